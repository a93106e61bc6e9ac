"""Reasons for a page: what was said, which trials ended so, and the end of what the process printed."""

from workbench.results import Standing
from workbench.showing import legend
from workbench.showing.why import Reason, earlier
from workbench.untrusted import MESSAGE, escaped, escaped_lines

MOST = 150
MOST_TRIALS = 6
STDERR = 1500  # characters, of its end


def parts(groups: list[Reason], prefix: str) -> str:
    """Each group under its mark, which the squares lead to; those left out share the mark `more`."""
    if not groups:
        return ""
    shown = ["<h3>Why</h3>", *(_reason(group, prefix) for group in groups[:MOST])]
    if len(groups) > MOST:
        shown.append(
            f'<p id="{prefix}-more">{len(groups) - MOST} more reasons are in the results, not here.</p>'
        )
    return "".join(shown)


def _reason(group: Reason, prefix: str) -> str:
    result = group.first.result
    members = "".join(f"<li>{_member(standing)}</li>" for standing in group.standings[:MOST_TRIALS])
    left_out = len(group.standings) - MOST_TRIALS
    members += f"<li>and {left_out} more</li>" if left_out > 0 else ""
    detail = f"<pre>{escaped_lines(result.detail, MESSAGE)}</pre>" if result.detail else ""
    heard = escaped_lines(result.stderr[-STDERR:], STDERR)
    stderr = (
        f"<details><summary>end of its stderr</summary><pre>{heard}</pre></details>" if heard.strip() else ""
    )
    trials = f"{len(group.standings)} trial{'s' * (len(group.standings) != 1)}"
    return (
        f'<section id="{prefix}-{group.mark}"><p><strong>{escaped(group.title, 200)}</strong>, '
        f"{trials}</p>{detail}<ul>{members}</ul>{stderr}</section>"
    )


def _member(standing: Standing) -> str:
    trial = standing.result.trial
    names = (trial.kernel, trial.mode, trial.label, trial.environment, legend.gpu(trial.gpu))
    shown = ", ".join(escaped(name) for name in names if name)
    return (
        f"<code>{trial.id}</code> {shown}: {standing.agree} of {standing.tried} attempts{earlier(standing)}"
    )
