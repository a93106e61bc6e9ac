"""Where a fault is, what flips it and who could fix it: three answers, each with its evidence or "not known"."""

from collections.abc import Mapping
from typing import Any

from workbench.attribution import NOT_KNOWN, Attribution
from workbench.evidence.facts import few, ids
from workbench.results import Outcome, Results, Standing, Trial
from workbench.showing import legend
from workbench.showing.cells import Cell, chip, stacked
from workbench.showing.shown import Shown
from workbench.untrusted import MESSAGE, escaped, natural, objects, plain

HEADS = (
    "kernel", "how it ended", "where it faults", "what flips it", "who could fix it", "seen without", "trials", "ids",
)  # fmt: skip
EMPTY = (
    "No fault is stored. `workbench run --mode fenced --mode sanitized ...` looks for them; the same trials in "
    "environments that differ in one package, or with one other input, find what flips one."
)
NOTE = (
    "Each answer rests on the trials that are named as its evidence; without evidence it is `not known`. A fault "
    "does not need a package only where it was seen without that package. What flips it is asked of crashes alone: a "
    "wrong answer may come and go by chance, with what lies beside a tensor. None of this counts in a verdict."
)
OTHER = {"caller": "library", "library": "caller"}  # of whom no rule speaks


def attributed(results: Results) -> Shown:
    """A row for all trials of a kernel that ended alike and have the same answers."""
    groups: dict[tuple[str, ...], list[tuple[Standing, tuple[Cell, ...]]]] = {}
    for kernel in sorted({result.trial.kernel for result in results}, key=natural):
        known = Attribution(results.only(kernel=[kernel]))
        for standing in filter(_is_fault, known.standings.values()):
            answers = _answers(known, standing.result.trial)
            alike = (kernel, standing.result.reason, *map(_without_evidence, answers))
            groups.setdefault(alike, []).append((standing, answers))
    rows = tuple(_row(members) for members in groups.values())
    return Shown("Attribution", HEADS, rows, EMPTY, NOTE)


def _is_fault(standing: Standing) -> bool:
    return standing.outcome == Outcome.CRASHED or bool(standing.against and standing.result.forensic)


def _answers(known: Attribution, trial: Trial) -> tuple[Cell, ...]:
    found = known.of(trial)
    without = [f"{plain(name, 60)}: {_few(seen)}" for name, seen in known.not_needed(trial).items()]
    return (
        _answer(found["where"], _where), _answer(found["flips"], _flips), _answer(found["who"], _who),
        stacked(without or ["-"]),
    )  # fmt: skip


def _row(members: list[tuple[Standing, tuple[Cell, ...]]]) -> tuple[str, ...]:
    standings = [standing for standing, _ in members]
    result, answers = standings[0].result, members[0][1]
    how = chip(result.outcome, f"{legend.sign(result.outcome, result.reason)} {plain(result.reason, 60)}")
    ended = stacked([how, *_where_seen([each.result.trial for each in standings])])
    return plain(result.trial.kernel), ended, *answers, str(len(members)), ids(standings)


def _where_seen(trials: list[Trial]) -> list[str]:
    """The modes, and the case or how many cases."""
    modes = sorted({plain(each.mode, 30) for each in trials})
    cases = list(dict.fromkeys(plain(each.label, 300) for each in trials))
    return [", ".join(modes), cases[0] if len(cases) == 1 else f"{len(cases)} cases"]


def _answer(answer: Any, words: Any) -> Cell:
    """What is known, and the trials it rests on below it; an answer without evidence is not known."""
    if not isinstance(answer, Mapping) or not answer.get("evidence"):
        return Cell.of(NOT_KNOWN, NOT_KNOWN)
    text, evidence = words(answer), f"evidence: {_few(answer['evidence'])}"
    html = f"{escaped(text, MESSAGE)}<br><small>{escaped(evidence, MESSAGE)}</small>"
    return Cell.of(f"{text} ({evidence})", html)


def _without_evidence(cell: str) -> str:
    return cell.partition(" (evidence: ")[0]


def _where(answer: Mapping[str, Any]) -> str:
    named = f"{plain(answer.get('kernel', ''), 200)} ({plain(answer.get('by', '-'), 40)})"
    package = " ".join(plain(answer.get(name) or "", 60) for name in ("package", "version")).strip()
    tensors = ", ".join(plain(each, 120) for each in answer.get("tensors", ()))
    known = (("in ", answer.get("file")), ("of ", package), ("beside ", tensors))
    return ", ".join([named, *(before + plain(what, 200) for before, what in known if what)])


def _flips(answer: Mapping[str, Any]) -> str:
    """`hidden: faults with 2880, right with 3072`, each change once."""
    said = (
        f"{plain(each.get('name'), 60)}: faults with {_value(each.get('faults_with'))}, "
        f"right with {_value(each.get('right_with'))}"
        for each in objects(answer.get("changes"))
    )
    return "; ".join(dict.fromkeys(said))


def _who(answer: Mapping[str, Any]) -> str:
    who = plain(answer.get("who", ""), 40)
    rules = "; ".join(plain(each, 200) for each in answer.get("rules", ()))
    other = f"; {OTHER[who]}: {NOT_KNOWN}" if who in OTHER else ""
    return f"{who}: {rules}{other}"


def _value(value: Any) -> str:
    return "none" if value is None else plain(value, 60)


def _few(trials: Any) -> str:
    known = [plain(each, 20) for each in trials] if isinstance(trials, list) else [plain(trials, MESSAGE)]
    return few(known)
