"""The rule by which a change gets its word: every margin and limit, each with its reason. Nothing is computed here."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Direction(StrEnum):
    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"  # equivalent within the margin, not a test that failed
    AMBIGUOUS = "AMBIGUOUS"


@dataclass(frozen=True)
class Rule:
    """How much is asked of a comparison. Margins are shares (0.01 is 1 %), `processes` are planned for each side.

    Fewer than `fewest` processes on a side decide nothing, unless a spread between processes is assumed.
    """

    name: str
    margin: float
    short_margin: float  # for kernels below SHORT_US
    processes: int
    fewest: int
    assumed_spread: float | None = None

    def margin_at(self, time_us: float) -> float:
        return self.short_margin if time_us < SHORT_US else self.margin


# Below 20 us pinned clocks still left 0.4 to 0.6 % between processes, 2 to 2.6 % in range; above, 1 % can be had.
SHORT_US = 20.0
# Three a side: with two, noise that jumps between two levels gave 12 % false verdicts in simulation (3 % with three).
DEFAULT = Rule("default", margin=0.01, short_margin=0.02, processes=5, fewest=3)
THOROUGH = Rule("thorough", margin=0.005, short_margin=0.01, processes=12, fewest=5)
# One process a side shows no spread between processes. The widest seen on steady rows (2.6 % over twelve: 0.8 %),
# rounded up, stands in; a process 2 % off for reasons of its own then stays well inside the margin.
QUICK = Rule("quick", margin=0.05, short_margin=0.05, processes=1, fewest=1, assumed_spread=0.01)
RULES: Mapping[str, Rule] = {rule.name: rule for rule in (QUICK, DEFAULT, THOROUGH)}

LEVEL = 0.05  # a 95 % interval; and, after Holm, one false verdict in twenty comparisons at most
FLOOR_FACTOR = 3.0  # the A/A floor is three times the median |A/A difference|: two standard deviations of it
WIDEST = 0.05  # a run whose A/A floor is above this decides nothing: "the same within 8 %" helps nobody
FINEST = 5e-4  # no process median is known better: 200 samples with quartiles 1 % apart give 0.05 %
# Pairs cost three points of power at five processes without drift, and save seventy where generations drift by 1 %.
# With fewer, the lost degrees of freedom widen the interval by half.
PAIRS_FROM = 5
# Where every process of one side beats every one of the other by chance in more than LEVEL of all orders (below four a
# side), only a change beyond any range seen between processes of one environment (2.6 % over twelve) is told.
FRAGILE = 0.03
CHOSEN_ANEW_FEWEST = 4  # tuned modes: each process picks its tactic, and two fresh tunings were 27 % apart
MOST_MORE = 40  # processes a side beyond which "more needed" is not worked out
CLOCKS_APART = 0.01  # between the sides' SM clocks, beyond their noise between processes
EVENTS_FROM_US = 100.0  # events add 1.5 to 5 us
HOST_FREE_US = 3000.0  # eager calls have kept the host busy for up to 1.4 ms; longer events are the device's
GRAPH_WITHIN = 1.1  # events this close to the same call as a graph: the host did not hold it up

HOST_TIMERS = ("host_clock", "cuda_events")  # the second only where nothing shows that the device was busy
IN_SEQUENCE = "one after the other"  # the mark of visits that were not interleaved

EXPLAINED: Mapping[str, str] = {
    "noise": "the interval neither clears the limit nor lies inside it",
    "few": "too few processes on a side to know how far processes differ",
    "spread assumed": "one or two processes a side: their spread is assumed, not measured",
    "assumed while throttled": "the assumed spread was seen without a throttle reason; under one, neighbours went "
    "8 % apart both ways",
    "by chance": "so few processes that noise between two levels can fake it (3 a side: once in 30); "
    f"only {FRAGILE:.0%} and more is told",
    "floor": "the limit is the A/A floor of this run, not the stated margin",
    "floor too high": f"equal environments differ by more than {WIDEST:.0%} in this run",
    "clocks": f"the sides' SM clocks are more than {CLOCKS_APART:.0%} apart, and not by their noise: "
    "the word must hold with and without what that explains",
    "memory clocks": f"the sides' memory clocks are more than {CLOCKS_APART:.0%} apart, and not by their noise: "
    "the word must hold with and without what that explains",
    "clocks unknown": "no SM clock was stored on a side",
    "tactics vary": "tunings of one side picked different tactics",
    "other tactics": "no tactic was picked on both sides: the difference may be the tuner's choice",
    "throttled": "a throttle reason was set during some of the visits",
    "anchor": "the anchor kernel differs between the sides by more than the margin: the word must hold with and "
    "without that",
    "host timer": "the time holds the host's work too, or nothing shows that it does not",
    "another kernel ran": "the two sides launched kernels of different names",
    "kernels vary": "processes of one side launched different kernels",
    "flaky": "some attempts ended otherwise than ok",
    "unbalanced": "the sides do not have the same visits; drift does not cancel",
    IN_SEQUENCE: "the visits were not interleaved; drift does not cancel",
    "different runs": "the sides have no run in common: no ratio",
    "different cards": "the sides have no card in common: no ratio",
    "card unknown": "the card's identity was not stored: no ratio",
    "run unknown": "the run was not named: no ratio",
    "environment changed": "two environments of one name on a side: no ratio",
    "other inputs": "the sides were not given the same inputs: no ratio",
    "other kernel file": "our kernel file changed in between: no ratio",
    "other timer": "the sides were timed differently: no ratio",
    "other cache state": "cold on one side, warm on the other: no ratio",
    "no time before": "no attempt of the first side has a time",
    "no time after": "no attempt of the second side has a time",
}
