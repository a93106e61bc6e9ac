"""Reads what compute-sanitizer reports. Pure: text in, findings out; the text is untrusted and may be cut anywhere."""

from .finding import Finding, findings
from .judging import gravest, judged
from .placing import placed
from .report import blind, errors
from .words import says

__all__ = ["Finding", "blind", "errors", "findings", "gravest", "judged", "placed", "says"]
