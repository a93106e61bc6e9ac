"""What stored results say of a function on a GPU."""

from collections import Counter

from workbench.results import Outcome, Result, Results
from workbench.untrusted import part

BAD = {Outcome.WRONG, Outcome.IMPLAUSIBLE, Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED, Outcome.UNSUPPORTED}


def measured(results: Results, function: str, sm: int, version: str) -> tuple[str, set[Outcome]]:
    """The outcomes that are stored of that function, GPU and FlashInfer version."""
    counts: Counter[Outcome] = Counter()
    cards = set()
    for standing in results.trials().values():
        result = standing.result
        if (
            _is_of(result, function, version)
            and part(result.provenance, "gpu", "sm") == f"{sm // 10}.{sm % 10}"
        ):
            counts[standing.outcome] += 1
            cards.add(str(part(result.provenance, "gpu", "name")))
    ran: set[Outcome] = set(counts) - {Outcome.NOT_RUN}
    text = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    return (f"measured on {', '.join(sorted(cards))}: {text}" if text else "not measured"), ran


def _is_of(result: Result, function: str, version: str) -> bool:
    held = [
        part(result.provenance, "environment", kind, "flashinfer-python")
        for kind in ("packages", "inherited")
    ]
    same = version.partition("+")[0] in [str(each).partition("+")[0] for each in held if each]
    return same and str(result.found.get("api", "")).rpartition(".")[2] == function.rpartition(".")[2]
