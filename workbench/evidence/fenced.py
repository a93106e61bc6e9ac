"""Fenced and sanitized trials: who is clean, what was touched, and what no fence could watch."""

import json
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from workbench.evidence.facts import Touch, found_nothing, ids, not_fenced, unreached
from workbench.evidence.probe import Probe, probes
from workbench.results import Outcome, Results, Standing, Trial
from workbench.showing import legend
from workbench.showing.cells import Cell, chip, stacked
from workbench.showing.shown import Shown, Tables
from workbench.untrusted import natural, objects, part, plain

HOW = "`workbench run --mode fenced --mode fenced_start --mode sanitized ...` looks for accesses beyond a tensor."
EMPTY = f"No fenced or sanitized trial is stored. {HOW}"
IDLE = {Outcome.NOT_RUN, Outcome.NOT_BUILT, Outcome.UNSUPPORTED}
NOTHING_TOUCHED = "No fenced or sanitized trial accessed memory outside its tensors."
ALL_FENCED = "No tensor is stored that a fence could not be placed next to."
LATENT = (
    "Latent: the same call is ok in its planned modes, although it reads or writes outside its tensors. "
    "Latent faults are shown beside a verdict and do not count in it."
)
TOUCHED = (
    "kernel", "tensor", "where", "that tensor alone", "GPU kernel, named by", "as planned", "trials",
    "environments", "ids",
)  # fmt: skip


def fenced(results: Results) -> Tables:
    """For each kernel case and mode by environment; then each tensor that was touched, and what no fence watched."""
    found = sorted(probes(results), key=lambda each: (natural(each.trial.kernel), _place(each.trial)))
    if not found:
        return Tables([Shown("", (), (), EMPTY)])
    kernels = [
        _of_kernel(kernel, list(members))
        for kernel, members in groupby(found, lambda each: each.trial.kernel)
    ]
    return Tables([*kernels, *_never(results, found), _touches(found), _unfenced(found)])


def _never(results: Results, found: list[Probe]) -> list[Shown]:
    """Kernels that ran, and never in one of these modes: nothing is known of their accesses."""
    ran = {each.trial.kernel for each in results if each.outcome not in IDLE}
    looked_at = {each.trial.kernel for each in found if each.standing.outcome not in IDLE}
    left_out = ", ".join(plain(name) for name in sorted(ran - looked_at, key=natural))
    return [Shown("", (), (), f"Neither fenced nor sanitized so far: {left_out}.")] if left_out else []


def _of_kernel(kernel: str, members: list[Probe]) -> Shown:
    columns = sorted({_column(each.trial) for each in members}, key=natural)
    rows: dict[tuple[str, str], dict[str, list[Probe]]] = {}
    for each in members:
        row = rows.setdefault((plain(each.trial.label, 300), plain(each.trial.mode, 30)), {})
        row.setdefault(_column(each.trial), []).append(each)
    entries = [(*names, *(_square(row.get(column, [])) for column in columns)) for names, row in rows.items()]
    caption = f"{plain(kernel)}: {_tally(members)}"
    return Shown(caption, ("case", "mode", *columns), tuple(entries))


def _tally(members: list[Probe]) -> str:
    clean = sum(_clean(each) for each in members)
    touching = sum(bool(each.touched) for each in members)
    parts = [
        (clean, "clean"),
        (touching, "with a fault"),
        (len(members) - clean - touching, "that ended otherwise"),
    ]
    return f"{len(members)} trials, " + ", ".join(f"{count} {what}" for count, what in parts if count)


def _clean(probe: Probe) -> bool:
    return probe.standing.outcome == Outcome.OK and not probe.touched


def _square(members: list[Probe]) -> Cell | str:
    return stacked(_said(each) for each in members) if members else legend.UNPLANNED.letter


def _said(probe: Probe) -> Cell:
    """`clean`, `Cm fault: a.w.data: after its end`, or how else it ended."""
    result = probe.standing.result
    if probe.touched:
        texts = list(dict.fromkeys(each.text for each in probe.touched))
        word = "latent fault" if probe.latent else "fault"
        return stacked([chip(result.outcome, f"{legend.letters(probe.standing)} {word}"), *texts])
    if _clean(probe):
        left_out = len(not_fenced(result))
        but = [*unreached(result), *([f"{left_out} not fenced"] if left_out else [])]
        return chip(Outcome.OK, ", ".join(["O clean", *but]))
    ended = chip(result.outcome, f"{legend.letters(probe.standing)} {plain(result.reason, 60)}")
    return stacked(filter(None, (ended, found_nothing(result))))


def _touches(found: list[Probe]) -> Shown:
    """Each tensor that was run over, once for all trials that did it alike."""
    groups: dict[tuple[str, Touch], list[Probe]] = {}
    for probe in found:
        for touch in dict.fromkeys(probe.touched):
            groups.setdefault((probe.trial.kernel, touch), []).append(probe)
    ordered = sorted(groups.items(), key=lambda item: (natural(item[0][0]), -len(item[1]), item[0][1].text))
    rows = tuple(_touched(kernel, touch, members) for (kernel, touch), members in ordered)
    return Shown("What was touched", TOUCHED, rows, NOTHING_TOUCHED, LATENT)


def _touched(kernel: str, touch: Touch, members: list[Probe]) -> tuple[str, ...]:
    place = ", ".join(filter(None, (touch.place, touch.access)))
    named = f"{touch.kernel} ({touch.by})" if touch.kernel else "not known"
    environments = sorted({each.trial.environment for each in members}, key=natural)
    return (
        plain(kernel), touch.tensor or "not known", place, _alone(touch, members), named,
        _as_planned(members), str(len(members)), stacked(map(plain, environments)),
        ids(each.standing for each in members),
    )  # fmt: skip


def _alone(touch: Touch, members: Iterable[Probe]) -> str:
    """What narrowed reruns say: fenced alone, how often it faults, and how many others alone do not."""
    if touch.access:
        return "the sanitizer names it" if touch.tensor else "-"
    tried = [faults for each in members for faults in each.alone.get(touch.tensor, [])]
    others = {name for each in members for name, faults in each.alone.items() if not any(faults)}
    if not tried:
        return "not tried" if not others else f"not tried; {len(others)} others alone do not fault"
    harmless = f"; {len(others)} others alone do not" if others else ""
    return f"faults in {sum(tried)} of {len(tried)} reruns{harmless}"


def _as_planned(members: Iterable[Probe]) -> str:
    members = list(members)
    standings: list[Standing] = [each for probe in members for each in probe.planned]
    word = "latent: " if all(each.latent for each in members) else ""
    return word + legend.tally(standings) if standings else "not run as planned"


def _unfenced(found: list[Probe]) -> Shown:
    """What a fence could not stand close to: a clean trial says nothing of these."""
    watched = Counter(
        (plain(probe.trial.kernel), name, why) for probe in found for name, why in _unwatched(probe)
    )
    rows = tuple((*key, str(count)) for key, count in sorted(watched.items()))
    return Shown("Not fenced, or with a gap", ("kernel", "tensor", "why", "trials"), rows, ALL_FENCED)


def _unwatched(probe: Probe) -> list[tuple[str, str]]:
    result = probe.standing.result
    far = [("what the case asks for", said) for said in unreached(result)]
    left_out = [
        (_name(each), f"not fenced: {plain(each.get('why', ''), 200)}") for each in not_fenced(result)
    ]
    gaps = [
        (_name(each), f"a gap of {each['gap_bytes']} bytes before the fence")
        for each in objects(part(result.forensic, "fence", "tensors"))
        if isinstance(each.get("gap_bytes"), int) and each["gap_bytes"] > 0
    ]
    return far + left_out + gaps


def _name(tensor: dict[str, object]) -> str:
    return plain(tensor.get("name", ""), 200)


def _column(trial: Trial) -> str:
    return f"{plain(trial.environment)} on {plain(legend.gpu(trial.gpu), 40)}"


def _place(trial: Trial) -> tuple[object, ...]:
    case = [(name, natural(value)) for name, value in sorted(trial.case.items())]
    return case, json.dumps(trial.case, sort_keys=True), natural(trial.mode), natural(trial.environment)
