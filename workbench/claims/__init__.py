"""What a FlashInfer says it supports, GPU by GPU, beside what was measured and what others reported.

Asked from the version itself where it can be asked, else read from its source, else "not stated".
"""

from .claim import Claim
from .rows import SMS, claims

__all__ = ["SMS", "Claim", "claims"]
