"""Two sides of one run, trial by trial: faster, slower, the same within a margin, or not to be told.

Pure: Results in, Changes out. The unit of replication is the process, and a ratio is only ever formed within
one run on one card.
"""

from workbench.comparison.changes import Change, Changes
from workbench.comparison.dial import found_rates
from workbench.comparison.judging import compare
from workbench.comparison.power_curve import Seen, power
from workbench.comparison.rules import DEFAULT, EXPLAINED, QUICK, RULES, THOROUGH, Direction, Rule
from workbench.comparison.sides import Side, sides

__all__ = [
    "DEFAULT",
    "EXPLAINED",
    "QUICK",
    "RULES",
    "THOROUGH",
    "Change",
    "Changes",
    "Direction",
    "Rule",
    "Seen",
    "Side",
    "compare",
    "found_rates",
    "power",
    "sides",
]
