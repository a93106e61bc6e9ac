"""Who could fix it, by stated rules and no others."""

from collections.abc import Iterator, Sequence
from itertools import product

from workbench import reruns
from workbench.results import Result

from .flips import Flip
from .where import NOT_KNOWN, Part, findings


def who(own: Sequence[Result], place: Part, flips: Sequence[Flip]) -> Part:
    """The library, if its kernel leaves the caller's tensors or its change flips the fault.

    The caller, if another input flips it.
    """
    library = list(_against_library(own, place, flips))
    caller = [
        (f"another {each['name']} flips it, so a caller could avoid it", [each["faults"], each["right"]])
        for each in flips
        if each["kind"] == "input"
    ]
    rules = [*library, *caller]
    if not rules:
        return NOT_KNOWN
    found = "both" if library and caller else "library" if library else "caller"
    evidence = list(dict.fromkeys(trial for _, trials in rules for trial in trials))
    return {"who": found, "rules": [rule for rule, _ in rules], "evidence": evidence}


def _against_library(
    own: Sequence[Result], place: Part, flips: Sequence[Flip]
) -> Iterator[tuple[str, list[str]]]:
    ids = list(dict.fromkeys(each.trial.id for each in own))
    if isinstance(place, dict) and place.get("package") and (outside := _outside(own)):
        yield f"a kernel of {place['package']} leaves {outside}, which it took without a refusal", ids
    for change in flips:
        if change["kind"] == "component":
            yield f"another {change['name']} flips it", [change["faults"], change["right"]]


def _outside(own: Sequence[Result]) -> str:
    """The tensor of the call that an access lies beside; empty where none is known to."""
    beside = [
        str(each["tensor"])
        for result, side in product(own, ("after", "before"))
        for each in findings(result)
        if each.get("side") == side and each.get("tensor")
    ]
    return next(iter([*beside, *reruns.guilty(own)]), "")
