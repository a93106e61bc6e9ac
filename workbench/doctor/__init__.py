"""Doctor: what an interpreter has, what in it does not go together, why that matters, and what to do."""

from .examination import Report, examine
from .expected import read_expected
from .fingerprint import Fingerprint, take
from .skew import Skew

__all__ = ["Fingerprint", "Report", "Skew", "examine", "read_expected", "take"]
