"""The environment of a stored trial, if it may be built again: a result line does not say what to install here.

The rule: exact versions of packages that this workbench knows, from the index or a folder of wheels. Anything else
must be named by the user.
"""

import re
import shlex

from workbench.environments import Environment, parse
from workbench.environments.lock import MEASURED
from workbench.environments.requirement import component_version, distribution_of, is_stack
from workbench.results import Result
from workbench.untrusted import part

KNOWN = frozenset({*MEASURED, "nvidia-cutlass-dsl", "torch", "triton", "numpy"})


def environment(result: Result) -> Environment:
    """What the trial ran in. Raises ValueError where the user must say it, with --environment."""
    stored = part(result.provenance, "environment", "requirements")
    as_of = part(result.provenance, "environment", "as_of")
    words = [str(each) for each in stored] if isinstance(stored, list) else []
    if unknown := [word for word in words if not _is_known(word)]:
        raise ValueError(f"{unknown[0]!r} comes from a result line; name the environment with --environment")
    if not words and result.trial.environment != "here":
        raise ValueError("it ran in an interpreter of another place; name one with --environment")
    return parse(shlex.join(words) or "here", as_of=str(as_of) if as_of else None)


def _is_known(word: str) -> bool:
    if component_version(word):
        return True
    if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+", word) and not is_stack(word):
        return False
    return re.search(r"[@/:;\s]", word) is None and (is_stack(word) or distribution_of(word) in KNOWN)
