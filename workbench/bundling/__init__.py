"""One file with all that a GPU node without a network needs for a plan.

The rule: the manifest names every file, with its size and hash, and nothing that it does not name is taken.
The plan is the options of `workbench run`. Hashes tell a file that was damaged; they do not tell who made it.
"""

from .checking import BadBundle
from .collecting import collect
from .opening import Bundle, unpack, use
from .places import FOLDER
from .plan import MACHINES, placed
from .writing import Item, TooLarge, Written, write

__all__ = [
    "FOLDER", "MACHINES", "BadBundle", "Bundle", "Item", "TooLarge", "Written", "collect", "placed", "unpack", "use",
    "write",
]  # fmt: skip
