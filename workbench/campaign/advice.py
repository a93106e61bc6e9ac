"""What a user should pin or pad: an answer for each change that trials speak of, with how many and which."""

from collections.abc import Sequence

from workbench.campaign.changes import INPUTS, evidence
from workbench.campaign.single import Single, singles
from workbench.results import Results
from workbench.showing.shown import Shown
from workbench.untrusted import plain

HEADS = ("question", "answer", "from", "ids")
EMPTY = "No questions were asked."
FENCES = ("fenced", "piecewise+fenced")
FLIPS, NOTHING = (
    "yes: it fails with {wrong}, and not with {right}",
    "no: it fails with {right} and with {wrong}",
)
QUESTIONS = {
    "Pad the scales?": ("pad_scales",),
    "Pad K to a multiple of 128?": ("hidden", "intermediate"),
    "Pin FlashInfer?": ("flashinfer-python",),
    "Pin triton_kernels?": ("triton-kernels-of-sglang-kernel",),
}
"""And what differs in the pairs that answer it."""


def advice(results: Results) -> Shown:
    """For each question what pairs behind a fence say, where a stray read is seen each time, and then the others."""
    found = singles(results, INPUTS)
    rows = (
        row
        for question, names in QUESTIONS.items()
        for row in _rows(question, [each for each in found if each.name in names])
    )
    return Shown("What to pin, what to pad", HEADS, tuple(rows), EMPTY)


def _rows(question: str, about: Sequence[Single]) -> list[tuple[str, ...]]:
    if not about:
        return [(question, "not known: no two trials differ in it alone", "-", "-")]
    told = [each for each in about if each.flips or each.nothing]
    if not told:
        count = sum(len(each.pairs) for each in about)
        return [(question, "not known: nothing is told from chance", f"{count} pairs", evidence(about[0]))]
    told.sort(key=lambda each: each.mode not in FENCES)
    return [(question, _answer(each), _from(each), evidence(each)) for each in told]


def _answer(single: Single) -> str:
    name = f"{plain(single.name)} " * (single.kind == "input")
    wrong = single.flips or single.values[1]
    right = next(each for each in single.values if each != wrong)
    said = FLIPS if single.flips else NOTHING
    return said.format(wrong=name + plain(wrong), right=name + plain(right))


def _from(single: Single) -> str:
    """`mxfp4_swiglu, fenced: 7 of 7 pairs fail so`, `...: 3 of 9 pairs fail on both sides, none on one alone`."""
    where = f"{plain(single.kernel)}, {plain(single.mode)}"
    where += f", {plain(single.loaded)} loaded" if single.loaded not in ("", "not told") else ""
    pairs = f"of {len(single.pairs)} pairs fail"
    if single.flips:
        first = single.flips == single.values[0]
        return f"{where}: {single.count(first, not first)} {pairs} so"
    return f"{where}: {single.count(True, True)} {pairs} on both sides, none on one alone"
