"""Which results are for the matrix and the figures, and which have a page of their own.

The rule: a trial in a forensic mode looks for latent faults and has no say beside planned ones; an instrument
(a kernel of our own by which the workbench itself is proven) is no kernel of a library.
"""

from collections.abc import Callable
from dataclasses import dataclass

from workbench.results import FORENSIC_MODES, Result, Results
from workbench.showing.tables import block

FORENSICS, MEASURING = "05_forensics", "04_measuring"
DIAL = "dial"  # changes its length by a known share: benchmarks/dial.py
LARGE = "large"  # holds half of the GPU's memory: tests/kernels/
FAULTY = ("planted", "gpu_faults", "ranked_cuda")  # fail in known ways: tests/kernels/
INSTRUMENTS = (DIAL, LARGE, *FAULTY)


def planned(results: Results) -> Results:
    """Attempts at kernels of libraries in planned modes (eager, graph, piecewise)."""
    kept = _only(results, lambda result: not (is_forensic(result) or is_instrument(result)))
    return Results(kept.attempts, kept.problems, repr(Aside(results)).rstrip(".") if not len(kept) else "")


def forensic(results: Results) -> Results:
    """Attempts in a forensic mode: see `results.FORENSIC_MODES`."""
    return _only(results, is_forensic)


def is_forensic(result: Result) -> bool:
    return result.trial.mode in FORENSIC_MODES


def is_declared(result: Result) -> bool:
    """Whether the kernel's own file refused the GPU's family, before the library was asked anything."""
    return result.stage == "prepare" and result.reason == "unsupported_arch"


def is_instrument(result: Result) -> bool:
    return result.trial.kernel in INSTRUMENTS


def of_libraries(results: Results) -> Results:
    """Attempts at kernels of libraries, in any mode."""
    return _only(results, lambda result: not is_instrument(result))


def by_turns(results: Results) -> Results:
    """Attempts of processes that took turns with others, from which a comparison is made."""
    return _only(results, lambda result: result.generation > 0)


def faulty(results: Results) -> Results:
    """Attempts at the instruments that fail in known ways."""
    return _only(results, lambda result: result.trial.kernel in FAULTY)


def _only(results: Results, wanted: Callable[[Result], bool]) -> Results:
    return Results(tuple(filter(wanted, results)), results.problems, results.nothing)


@dataclass(frozen=True)
class Aside:
    """Shows itself: how many trials `planned` leaves out of these results, and the pages that have them."""

    results: Results

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """What and on which page, for each kind that there is."""
        proof = {result.trial for result in faulty(self.results)}
        fenced = {result.trial for result in self.results if is_forensic(result)} - proof
        dialled = {result.trial for result in self.results if is_instrument(result)} - fenced - proof
        fenced_modes = ", ".join(FORENSIC_MODES)
        found = [
            (len(fenced), f"in forensic modes ({fenced_modes}), which do not count in a verdict", FORENSICS)
        ]
        found += [(len(proof), "of kernels that fail in known ways, instruments of forensics", FORENSICS)]
        found += [(len(dialled), "of our own kernels, instruments of the stopwatch", MEASURING)]
        return [(f"{count} trials {what}", page) for count, what, page in found if count]

    def __repr__(self) -> str:
        said = "; ".join(f"{what}: page {page}" for what, page in self.left_out)
        return f"Not shown here: {said}." if said else self.results.nothing

    def _repr_html_(self) -> str:
        said = "; ".join(f'{what}: <a href="{page}.html">page {page[:2]}</a>' for what, page in self.left_out)
        return block(f"<p>Not shown here: {said}.</p>" if said else "")
