"""What the tools' processes told, joined by call. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.truth.rows import Row

NOT_TOLD = "not in what it wrote"


def joined(
    columns: Mapping[str, Sequence[str]], told: Mapping[str, Sequence[Row]], failed: Mapping[str, str]
) -> Row:
    """`rows`, one a call, and `readers`: what each reader of CUPTI's records said and cost.

    `columns`, `told` and `failed` by tool: a column that its tool did not fill holds why.
    """
    readers = [row for rows in told.values() for row in rows if "reader" in row]
    rows = _by_call([row for rows in told.values() for row in rows if "reader" not in row])
    for reader in readers:
        if reader["reader"] in columns.get("cupti", ()) and reader.get("call") in rows:
            rows[reader["call"]][reader["reader"]] = reader.get("span_us", reader.get("lost", NOT_TOLD))
    for tool, names in columns.items():
        for row in rows.values():
            for name in names:
                row.setdefault(name, failed.get(tool, NOT_TOLD))
    return {"rows": list(rows.values()), "readers": readers, "failed": dict(failed)}


def _by_call(told: Sequence[Row]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in told:
        found.setdefault(row["call"], {}).update(row)
    return found
