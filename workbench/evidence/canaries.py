"""GPUs that failed their canary after a crash, and were not used any more in that run."""

from workbench.evidence.facts import ids
from workbench.results import Outcome, Result, Results, Standing
from workbench.showing.legend import gpu
from workbench.showing.shown import Shown
from workbench.untrusted import MESSAGE, part, plain

SAID = "GPU is not used any more"  # what the runner writes of each trial that it then leaves out
EMPTY = (
    "No GPU failed its canary. After each crash `workbench run` tests the GPU in a fresh process, the canary. If that "
    "fails, it uses the GPU no more, and stores which trials it left out."
)


def canaries(results: Results) -> Shown:
    """A row for each run and reason; the trials that it cost."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        if result.outcome == Outcome.NOT_RUN and SAID in result.detail:
            card = part(result.provenance, "gpu", "uuid_hash") or "-"
            key = (
                plain(result.run),
                plain(gpu(result.trial.gpu)),
                plain(card),
                plain(result.detail, MESSAGE),
            )
            groups.setdefault(key, []).append(result)
    rows = tuple((*key, str(len(members)), _ids(members)) for key, members in groups.items())
    return Shown("GPUs put out of use", ("run", "gpu", "card", "why", "trials left out", "ids"), rows, EMPTY)


def _ids(members: list[Result]) -> str:
    return ids(Standing.of([result]) for result in members)
