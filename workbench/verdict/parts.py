"""What is said of a verdict, answer first, as parts that a terminal, a comment and a page show each in its way.

Texts of results are cleaned of control characters here and escaped where they are shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.results import device
from workbench.untrusted import plain
from workbench.verdict import beside
from workbench.verdict.deciding import Answer, Family, Verdict
from workbench.verdict.ends import message
from workbench.verdict.pair import Pair
from workbench.verdict.settling import settling
from workbench.verdict.word import AGAINST, OPEN, Word

HEADS = ("trial", "kernel", "case", "mode", "what")
CASE, WHAT = 160, 320  # characters
MOST_NAMED = 5  # of the trials that failed alike
MEANS = {
    Answer.BUMP: "move the pin",
    Answer.HOLD: "leave the pin where it is",
    Answer.KEEP: "stay on the candidate",
    Answer.REVERT: "go back to the baseline",
    Answer.NEED_DATA: "what is stored does not decide",
}


@dataclass(frozen=True)
class Part:
    """A heading, sentences, a command, a table (below the head `trial` stand ids of trials); folded: on request."""

    title: str
    lines: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    command: str = ""
    folded: bool = False


def headline(verdict: Verdict) -> str:
    """`HOLD: leave the pin where it is`, with the count of those that say nothing: absence is never a pass."""
    unknown = sum(len(family.having(Word.NOT_KNOWN)) for family in verdict.families if family.votes)
    said = f" ({unknown} trial{'s' * (unknown != 1)} not known)" if unknown else ""
    return f"{verdict.answer}: {MEANS[verdict.answer]}{said}"


def parts(verdict: Verdict) -> list[Part]:
    return [
        answer(verdict),
        *(part for family in verdict.families for part in _family(verdict, family)),
        *_beside(verdict),
    ]


def answer(verdict: Verdict) -> Part:
    """The headline, whom it is about, and a line for each family."""
    sides = [
        f"{side} {plain(name)}{' (in use)' if name == verdict.current else ''}"
        for side, name in (("baseline", verdict.baseline), ("candidate", verdict.candidate))
    ]
    said = [
        f"{_name(family)}: {family.answer}{'' if family.votes else ' (has no vote)'}. {_counts(family)}"
        for family in verdict.families
    ]
    question, _ = beside.locks(verdict)
    idle = [f"no trial here is meant by the policy's weight for {plain(each)}" for each in _idle(verdict)]
    return Part(headline(verdict), (*sides, question, *said, *idle, *_unread(verdict)))


def _unread(verdict: Verdict) -> list[str]:
    """Lines that are torn or no results may have been of these two."""
    count = len(verdict.results.problems)
    said = f"not in this: {count} thing{'s' * (count != 1)} in the results that could not be read"
    return [said] if count else []


def _idle(verdict: Verdict) -> list[str]:
    """Weights that weigh nothing: a kernel's name may be misspelled."""
    trials = [pair.trial for family in verdict.families for pair in family.pairs]
    return [each.text for each in verdict.policy.weight if not any(map(each.fits, trials))]


def _name(family: Family) -> str:
    gpus = [plain(gpu) for gpu in family.gpus if device(gpu) == "gpu"]
    return f"{family.name} ({', '.join(gpus)})" if gpus else family.name


def _counts(family: Family) -> str:
    """What decided, and how all trials that have a vote stand; what is not known stands first."""
    counts = family.counts()
    order = (*OPEN, *(word for word in Word if word not in OPEN))
    said = [f"{counts[word]} {word}" for word in order if word in counts]
    silent = sum(not pair.votes for pair in family.pairs)
    said += [f"{silent} without a vote"] if silent else []
    return f"{_sentence(family.why)} Of {len(family.pairs)} trials: {'; '.join(said) or 'none'}."


def _sentence(why: Sequence[str]) -> str:
    text = "; ".join(why)
    return f"{text[:1].upper()}{text[1:]}."


def _family(verdict: Verdict, family: Family) -> Iterator[Part]:
    name = _name(family)
    if family.deciding:
        yield Part(f"{name}: what decides", _deciding_lines(family), HEADS, tuple(_grouped(family.deciding)))
    if family.answer == Answer.NEED_DATA:
        told = settling(verdict, family)
        yield Part(f"{name}: what would settle it", told.lines, command=told.command)
    for title, words in (
        ("not known or too close to call", OPEN),
        ("faults of both sides; they hold no pin", (Word.CHANGED, Word.UNCHANGED)),
        ("mended or faster", (Word.MENDED, Word.FASTER)),
        ("the same, or not slower", (Word.SAME, Word.NOT_SLOWER, Word.UNTIMED)),
    ):
        if some := family.having(*words):
            yield Part(f"{name}: {len(some)} {title}", (), HEADS, tuple(_grouped(some)), folded=True)
    if silent := [pair for pair in family.pairs if not pair.votes]:
        yield Part(f"{name}: {len(silent)} without a vote", (), HEADS, tuple(_grouped(silent)), folded=True)


def _deciding_lines(family: Family) -> tuple[str, ...]:
    against = family.having(*AGAINST)
    alone = sum(pair.again is None for pair in against)
    said = [f"{alone} of them were not run again."] if alone else ["Each came again when it was run again."]
    overall = [f"All trials together: {family.overall.text}."] if family.overall else []
    return (*(said if against else []), *overall, *_together_again(family))


def _together_again(family: Family) -> Iterator[str]:
    slower = family.together
    if slower and slower.again and slower.repeat:
        yield f"All together were slower again when they were run again: {slower.repeat.text}."
    elif len(family.deciding) > len(family.having(*AGAINST)):
        yield "What makes all together slower was not run again."


def _grouped(some: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """A row for all of a kernel that failed alike, and for each other trial."""
    groups: dict[object, list[Pair]] = {}
    for pair in some:
        after = pair.after
        alike = after is not None and (after.faults or not after.known)
        key = (
            (pair.word, pair.trial.kernel, pair.trial.mode, message(after.result))
            if alike and after
            else (id(pair),)
        )
        groups.setdefault(key, []).append(pair)
    for members in groups.values():
        first = members[0]
        others = [pair.trial.id for pair in members[1 : MOST_NAMED + 1]]
        more = f"; {len(members)} trials alike, such as {', '.join(others)}" if others else ""
        why = plain(first.why, WHAT)
        what = f"{first.word}: {why}" if why else str(first.word)
        trial = first.trial
        yield trial.id, plain(trial.kernel), plain(trial.label, CASE), plain(trial.mode), what + more


def _beside(verdict: Verdict) -> Iterator[Part]:
    """Has no vote."""
    for title, heads, rows in _tables(verdict):
        if rows:
            yield Part(title, (), heads, tuple(rows), folded=True)
    if compiled := beside.compiled(verdict):
        yield Part("Compiled and never run; has no vote", (compiled,), folded=True)


def _tables(verdict: Verdict) -> Iterator[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]]:
    """Title, heads and rows, also where there are none."""
    sides = ("baseline", "candidate")
    _, packages = beside.locks(verdict)
    yield (
        "1 package differs" if len(packages) == 1 else f"{len(packages)} packages differ",
        ("package", *sides, "kind", "where"),
        [
            (plain(row.package), row.before or "-", row.after or "-", str(row.kind), row.where)
            for row in packages
        ],
    )
    called, latent = beside.signatures(verdict), beside.latent(verdict)
    yield (
        f"Functions called by the trials compared here that have other parameters: {len(called)}",
        ("function", *sides),
        called,
    )
    where = ("kernel", "case", "mode", "GPU")
    yield f"Latent faults, found under a guard; they have no vote: {len(latent)}", (*where, *sides), latent
    told = [(side, plain(text, WHAT)) for side, text in beside.reported(verdict)]
    yield f"Reports of others that may apply; they have no vote: {len(told)}", ("of", "report"), told
