"""The verdict: results of two environments and a policy -> bump or hold, keep or revert, or need data. Pure.

Nothing that is only reported, latent or compiled has a vote; what nobody ran is never a pass.
"""

from workbench.verdict.deciding import Answer, Family, Verdict, judge
from workbench.verdict.facts import facts
from workbench.verdict.markdown import markdown
from workbench.verdict.page import html
from workbench.verdict.pair import VERIFIED, Pair
from workbench.verdict.policy import DEFAULT, Policy, load_policy
from workbench.verdict.sides import judge_named, named, two_of
from workbench.verdict.text import text
from workbench.verdict.word import Word

__all__ = [
    "DEFAULT", "VERIFIED", "Answer", "Family", "Pair", "Policy", "Verdict", "Word", "facts", "html", "judge",
    "judge_named", "load_policy", "markdown", "named", "text", "two_of",
]  # fmt: skip
