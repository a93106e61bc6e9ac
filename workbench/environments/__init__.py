"""Environments: a Python with pinned packages, built on first use with uv, known by the hash of its contents.

The rule: torch and all else of an existing interpreter are inherited; only what was asked for, and the small
packages that it imports, are installed beside it. Nothing here imports what it installs.
"""

from .building import build
from .component import repack
from .installer import BuildError
from .lock import Built, changed
from .spec import Environment, parse

__all__ = ["BuildError", "Built", "Environment", "build", "changed", "parse", "repack"]
