"""The same plan on many nodes, through an engine that is there: Slurm, or this machine's own queue.

The rule: what is true is in the result lines on the shared disk. The engine is asked only about jobs that left none.

A block is one job on one GPU: all environments to be compared meet in it. Each start of a job writes files of its
own, so two nodes never touch one file, even if the engine takes a node for lost that is not.
"""

from .blocks import Block, blocks
from .cancelling import cancel
from .merging import Merged, merge
from .places import Place, read_places
from .standing import Engine, State, pages, states
from .submission import Submission, newest, submissions
from .submitting import submit
from .unfinished import unfinished

__all__ = [
    "Block", "Engine", "Merged", "Place", "State", "Submission", "blocks", "cancel", "merge", "newest", "pages",
    "read_places", "states", "submissions", "submit", "unfinished",
]  # fmt: skip
