"""What a forensic attempt told, read with care: a fence, findings of a sanitizer, a fault and who named its kernel."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.results import Outcome, Result, Standing
from workbench.untrusted import objects, part, plain

RANKS = ("core dump", "sanitizer", "error text", "blocking launch")  # who names a kernel, the surest first
SIDES = {"end": "after its end", "start": "before its start"}  # where a fence stands
BESIDE = {"after": "after its end", "before": "before its start", "inside": "inside it"}
KINDS = {"out_of_bounds": "", "hardware": "", "uninitialized": "never written:", "race": "two threads raced:"}
MOST_IDS = 4


@dataclass(frozen=True)
class Touch:
    """An access that is not as it should be; empty texts where something is not known. `tensor` is the nearest."""

    tensor: str
    place: str
    access: str
    kernel: str
    by: str

    @property
    def text(self) -> str:
        where = ", ".join(filter(None, (self.place, self.access)))
        return f"{self.tensor or 'tensor not known'}: {where}"


@dataclass(frozen=True)
class Fault:
    """The GPU kernel that faulted, and who says so."""

    kernel: str
    by: str
    error: str = ""


def fault(results: Iterable[Result]) -> Fault | None:
    """The surest of what several attempts at one trial say."""
    told = [each for each in map(_fault, results) if each]
    return min(told, key=lambda each: RANKS.index(each.by) if each.by in RANKS else len(RANKS), default=None)


def _fault(result: Result) -> Fault | None:
    kernel, by, error = (part(result.forensic, "fault", name) for name in ("kernel", "by", "error"))
    return Fault(plain(kernel, 200), plain(by or "-", 40), plain(error or "", 300)) if kernel else None


def findings(result: Result) -> list[Touch]:
    """What the sanitizer saw, one for each kernel, tensor and place."""
    found = objects(part(result.forensic, "sanitizer", "findings"))
    tool = plain(part(result.forensic, "sanitizer", "tool") or "sanitizer", 40)
    return [
        Touch(_text(each, "tensor"), _beside(each), _access(each), _text(each, "kernel"), tool)
        for each in found
    ]


def found_nothing(result: Result) -> str:
    """`memcheck found nothing` of an answer that is wrong under it: no proof against the kernel; else empty."""
    report = part(result.forensic, "sanitizer")
    clean = isinstance(report, dict) and report.get("errors") == 0 and not report.get("blind")
    if result.outcome != Outcome.WRONG or not clean or report.get("findings"):
        return ""
    return f"{plain(report.get('tool') or 'the sanitizer', 40)} found nothing"


def _beside(finding: dict[str, Any]) -> str:
    """`1 byte after its end (of 259200 bytes)`; empty where the tool names no place, as of a race."""
    place, distance, size = (
        BESIDE.get(str(finding.get("side")), ""),
        *map(finding.get, ("distance_bytes", "of_bytes")),
    )
    far = f"{_bytes(distance)} " if isinstance(distance, int) and place != BESIDE["inside"] else ""
    return f"{far}{place}" + (f" (of {_bytes(size)})" if isinstance(size, int) else "") if place else ""


def _access(finding: dict[str, Any]) -> str:
    """`read of 16 bytes, 96 times`."""
    kind, size, count = _text(finding, "kind"), finding.get("bytes"), finding.get("count")
    said = " ".join(filter(None, (KINDS.get(kind, kind), _text(finding, "access"))))
    said += f" of {_bytes(size)}" if isinstance(size, int) else ""
    return said + (f", {count} times" if isinstance(count, int) and count > 1 else "")


def _bytes(count: int) -> str:
    return f"{count} byte{'s' * (count != 1)}"


def edge(result: Result) -> str:
    """Where the fence of this attempt stands, in words: after the end, or before the start."""
    return SIDES.get(str(part(result.forensic, "fence", "edge")), "beyond it")


def unnarrowed(result: Result) -> str:
    """What is known where no tensor is: a fence was run into, or the address was a wild one."""
    ends = {"end": ", with fences at the ends", "start": ", with fences at the starts"}
    return "an illegal address" + ends.get(str(part(result.forensic, "fence", "edge")), "")


def only(result: Result) -> list[str]:
    """The tensors that alone were fenced; empty where all were."""
    names = part(result.forensic, "fence", "only")
    return [plain(name, 200) for name in names] if isinstance(names, list) else []


def not_fenced(result: Result) -> list[dict[str, Any]]:
    """The tensors, by name and why, that a fence left alone."""
    return objects(part(result.forensic, "fence", "not_fenced"))


def unreached(result: Result) -> list[str]:
    """Far ends of the inputs, such as the last expert, that this case does not touch; a fence proves nothing there."""
    far = part(result.forensic, "fence", "reached")
    met = far.items() if isinstance(far, dict) else ()
    return [f"{plain(name, 60)} not reached" for name, touched in met if touched is False]


def ids(standings: Iterable[Standing]) -> str:
    """By which trials a row can be found again; `and 7 more` for the rest."""
    return few([each.result.trial.id for each in standings])


def few(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - MOST_IDS} more" if len(names) > MOST_IDS else ""
    return ", ".join(names[:MOST_IDS]) + more


def _text(facts: dict[str, Any], name: str) -> str:
    return plain(facts.get(name) or "", 200)
