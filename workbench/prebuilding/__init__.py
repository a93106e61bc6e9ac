"""FlashInfer's modules built ahead, on a machine without a GPU, for one that compiles nothing.

The rule: what is compiled, and how, is the library's own word; we choose only which of it, and when.
"""

from .compiling import CompileError, jobs
from .making import Made, make, planned
from .recipes import Asked, Recipe, Without, ask
from .toolkit import Toolkit, find
from .trimming import Trim

__all__ = [
    "Asked",
    "CompileError",
    "Made",
    "Recipe",
    "Toolkit",
    "Trim",
    "Without",
    "ask",
    "find",
    "jobs",
    "make",
    "planned",
]
