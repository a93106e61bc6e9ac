"""What an autotuner chose in an attempt, as it stands in every row of tuned times; and which modes let it choose."""

from workbench.results import Result
from workbench.untrusted import plain

TUNED = "+tuned"  # behind the name of a mode: graph+tuned
LONGEST = 120  # characters; what was chosen is a text from another environment


def is_tuned(mode: str) -> bool:
    """Whether each process chose its tactic anew."""
    return mode.endswith(TUNED)


def tactic(result: Result) -> str:
    """`gemm1 MoERunner 33, gemm2 MoERunner 114`; empty where nothing is stored of it."""
    tuning = result.time.get("tuning")
    chosen = tuning.get("chosen") if isinstance(tuning, dict) else None
    named = chosen.items() if isinstance(chosen, dict) else ()
    each = (f"{str(operation).rpartition('::')[2]} {choice}" for operation, choice in sorted(named))
    return plain(", ".join(each), LONGEST)
