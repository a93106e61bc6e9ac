"""Times FlashInfer kernels across versions and GPU families, and shows where they break.

Read in this order: kernels/ (what is measured), environments (where), worker/ (how, inside an environment),
planning and runner (drive the workers), judge (what it means), results and store (what is kept), and then matrix,
figures and report (how it looks). Measuring and showing never import each other; they meet in results.
"""

from typing import Any

__version__ = "0.1.0"
__all__ = ["Outcome", "Result", "Results", "Trial", "load"]


def __getattr__(name: str) -> Any:
    """Read when they are first asked for: a command must start at once."""
    if name not in __all__:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    from workbench import results, store

    return getattr(store if name == "load" else results, name)
