"""What stands beside a verdict and has no vote: the locks, latent faults, reports of others, what was only compiled."""

from collections import Counter
from collections.abc import Iterator, Mapping

from workbench import difference, known_issues
from workbench.reported import sm_of, versions_in
from workbench.results import FORENSIC_MODES, Outcome, Results, Standing, Trial
from workbench.untrusted import plain
from workbench.verdict.deciding import Verdict

OF_FLASHINFER = {"flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache"}
Row = tuple[str, ...]


def question_answered(rows: list[difference.Row]) -> str:
    """Which of the two questions the locks let these results answer."""
    names = [row.package for row in rows]
    if not names:
        return (
            "The locks name the same versions: what differs is within a package of one version, or nothing."
        )
    if set(names) <= OF_FLASHINFER:
        return "Only FlashInfer changed: what differs is its doing."
    if len(names) == 1:
        return f"Only {plain(names[0])} changed: what differs is its doing."
    return (
        f"As a user would have got it: {len(names)} packages changed together ({', '.join(names[:6])}"
        f"{', ...' * (len(names) > 6)}), and nothing here says which of them did it."
    )


def locks(verdict: Verdict) -> tuple[str, list[difference.Row]]:
    """The question answered, and the rows that differ."""
    every = difference.locks_of(verdict.results)
    before, after = (
        difference.newest(every, name) or verdict.locks.get(name)
        for name in (verdict.baseline, verdict.candidate)
    )
    if before is None or after is None:
        return "What differs between the two is not known: a side has no lock.", []
    rows = difference.difference(before, after)
    return question_answered(rows), rows


def latent(verdict: Verdict) -> list[Row]:
    """Trials whose guard found something: kernel, case, mode, GPU, how on each side."""
    standings = verdict.results.trials()
    return [
        (
            plain(trial.kernel),
            plain(trial.label, 200),
            plain(trial.mode),
            plain(trial.gpu),
            *_ends(trial, standings, verdict),
        )
        for trial in _once(standings, verdict, FORENSIC_MODES)
        if any(
            each and each.outcome not in (Outcome.OK, Outcome.NOT_RUN)
            for each in _both(trial, standings, verdict)
        )
    ]


def compiled(verdict: Verdict) -> str:
    """How many were compiled for a GPU that nobody had."""
    every = [
        standing for trial, standing in verdict.results.trials().items()
        if trial.mode == "compiled" and trial.environment in (verdict.baseline, verdict.candidate)
    ]  # fmt: skip
    counts = Counter(str(each.outcome).replace("_", " ") for each in every)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def reported(verdict: Verdict) -> list[tuple[str, str]]:
    """(of which side, what) for each report of others that fits a kernel judged here, its GPUs and its versions."""
    before, after = (_issues(verdict, name) for name in (verdict.baseline, verdict.candidate))
    found = [("candidate alone" if each not in before else "both", each) for each in after]
    found += [("baseline alone", each) for each in before if each not in after]
    return [(side, each.text) for side, each in found]


def signatures(verdict: Verdict) -> list[Row]:
    """API, as it was, as it is: of the functions that were called, those whose parameters differ."""
    seen: dict[str, dict[str, str]] = {}
    for each in verdict.results:
        api, signature = each.found.get("api"), each.found.get("signature")
        if isinstance(api, str) and isinstance(signature, str):
            seen.setdefault(each.trial.environment, {})[api] = signature
    before, after = seen.get(verdict.baseline, {}), seen.get(verdict.candidate, {})
    both = sorted(before.keys() & after.keys())
    return [
        (plain(api), plain(before[api], 400), plain(after[api], 400))
        for api in both
        if before[api] != after[api]
    ]


def _issues(verdict: Verdict, name: str) -> list[known_issues.Issue]:
    versions = versions_in(difference.newest(difference.locks_of(verdict.results), name))
    issues = known_issues.load()
    found = [
        known_issues.match(issues, kernel=kernel, sm=sm, versions=versions)
        for kernel, sm in _asked(verdict.results)
    ]
    return sorted({each for some in found for each in some}, key=lambda issue: issue.id)


def _asked(results: Results) -> set[tuple[str, int]]:
    cards = ((each.trial.kernel, sm_of(each)) for each in results)
    return {(kernel, sm) for kernel, sm in cards if sm is not None}


def _once(standings: Mapping[Trial, Standing], verdict: Verdict, modes: tuple[str, ...]) -> Iterator[Trial]:
    """The candidate's trials in these modes, and the baseline's that it lacks."""
    for trial in standings:
        if trial.mode in modes and (
            trial.environment == verdict.candidate
            or (trial.environment == verdict.baseline and _of(trial, verdict.candidate) not in standings)
        ):
            yield trial


def _of(trial: Trial, environment: str) -> Trial:
    return Trial(trial.kernel, trial.case, trial.mode, environment, trial.gpu)


def _both(trial: Trial, standings: Mapping[Trial, Standing], verdict: Verdict) -> list[Standing | None]:
    return [standings.get(_of(trial, name)) for name in (verdict.baseline, verdict.candidate)]


def _ends(trial: Trial, standings: Mapping[Trial, Standing], verdict: Verdict) -> list[str]:
    return [
        each.word.replace("_", " ") if each else "not planned" for each in _both(trial, standings, verdict)
    ]
