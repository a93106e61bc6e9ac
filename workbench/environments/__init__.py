"""Environments: a Python with pinned packages, built on first use with uv, known by the hash of its contents.

The rule: torch and all else of an existing interpreter are inherited; only what was asked for, and the small
packages that it imports, are installed beside it. Nothing here imports what it installs.
"""

from .absence import absent
from .building import FOLDER, build
from .carrying import carry, fetch_needs
from .component import repack
from .declaration import declared, save
from .installer import BuildError
from .listing import Releases, releases
from .lock import Built, changed
from .named import choose, load_stacks
from .pins import Sources
from .spec import TORCHES, Environment, parse

__all__ = [
    "FOLDER", "TORCHES", "BuildError", "Built", "Environment", "Releases", "Sources", "absent", "build", "carry",
    "changed", "choose", "declared", "fetch_needs", "load_stacks", "parse", "releases", "repack", "save",
]  # fmt: skip
