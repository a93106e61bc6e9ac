"""What a user should pin or pad: a sentence for each change that trials speak of, with how many and which."""

from dataclasses import dataclass

from workbench.campaign.changes import INPUTS, evidence
from workbench.campaign.single import Single, singles
from workbench.results import Results
from workbench.showing.shown import Shown
from workbench.untrusted import plain

HEADS = ("question", "answer", "from", "ids")
EMPTY = "No trials are stored that differ in one thing alone, so nothing can be advised."
FENCES = ("fenced", "piecewise+fenced")
NAMES = {"flashinfer-python": "FlashInfer", "triton-kernels-of-sglang-kernel": "the copy of triton_kernels"}


@dataclass(frozen=True)
class Question:
    """`text` is asked of one change; the answers are for where it flips the fault, and for where it flips nothing."""

    text: str
    name: str
    flips: str
    nothing: str


QUESTIONS = (
    Question("Pad the scales?", "pad_scales", "yes: with them padded the fault is gone", "padding changes nothing"),
    Question("Pad K to a multiple of 128?", "hidden", "yes: at {right} the fault is gone", "another K changes nothing"),
    Question(
        "Pin FlashInfer?", "flashinfer-python", "yes: it fails with {wrong}, and not with {right}",
        "no: the fault is there with {right} and with {wrong}",
    ),
    Question(
        "Pin triton_kernels?", "triton-kernels-of-sglang-kernel", "yes: it fails with {wrong}, and not with {right}",
        "no: the fault is there with {right} and with {wrong}",
    ),
)  # fmt: skip


def advice(results: Results) -> Shown:
    """For each question what pairs behind a fence say, where a stray read is seen each time, and then the others."""
    found = singles(results, INPUTS)
    rows = [
        row
        for question in QUESTIONS
        for row in _rows(question, [each for each in found if each.name == question.name])
    ]
    return Shown("What to pin, what to pad", HEADS, tuple(rows), EMPTY)


def _rows(question: Question, about: list[Single]) -> list[tuple[str, ...]]:
    if not about:
        return [(question.text, "not known: no two trials differ in it alone", "-", "-")]
    told = sorted(
        (each for each in about if each.flips or each.nothing), key=lambda each: each.mode not in FENCES
    )
    if not told:
        count = sum(len(each.pairs) for each in about)
        return [
            (
                question.text,
                "not known: none of the pairs tells it from chance",
                f"{count} pairs",
                evidence(about[0]),
            )
        ]
    return [
        (
            question.text,
            _answer(question, each),
            f"{plain(each.kernel)}, {plain(each.mode)}: {_from(each)}",
            evidence(each),
        )
        for each in told
    ]


def _from(single: Single) -> str:
    """`7 of 7 pairs fail with none alone`, `3 of 9 pairs fail on both sides, none on one alone`."""
    count, pairs = single.count(True, True), f"of {len(single.pairs)} pairs"
    if single.flips:
        first = single.flips == single.values[0]
        return f"{single.count(first, not first)} {pairs} fail with {plain(single.name)} {plain(single.flips)} alone"
    return f"{count} {pairs} fail on both sides, none on one alone"


def _answer(question: Question, single: Single) -> str:
    wrong = single.flips or single.values[1]
    right = next(each for each in single.values if each != wrong)
    return (question.flips if single.flips else question.nothing).format(
        wrong=plain(wrong), right=plain(right)
    )
