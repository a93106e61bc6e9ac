"""Drift: what differs between two releases for those who call them, read from their files; nothing is imported."""

from .change import Change
from .compare import drift
from .definitions import Library
from .pair import open_pair
from .releases import open_release

__all__ = ["Change", "Library", "drift", "open_pair", "open_release"]
