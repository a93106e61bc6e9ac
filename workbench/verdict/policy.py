"""The policy: which trials count, how much, and how much slower one may become. A small TOML file, checked by key.

Everything may be left out; what is left out is as in `DEFAULT`. `workbench compare --help` shows a whole one.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from workbench import reading
from workbench.comparison import RULES, Rule
from workbench.results import Trial


@dataclass(frozen=True)
class Choice:
    """Which trials are meant: what is empty is not asked."""

    kernel: str = ""
    mode: str = ""
    case: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0

    def fits(self, trial: Trial) -> bool:
        return (
            self.kernel in ("", trial.kernel)
            and self.mode in ("", trial.mode)
            and all(name in trial.case and trial.case[name] == value for name, value in self.case.items())
        )

    @property
    def text(self) -> str:
        case = ", ".join(f"{name}={value}" for name, value in self.case.items())
        return ", ".join(each for each in (self.kernel, self.mode, case) if each) or "every trial"


@dataclass(frozen=True)
class Policy:
    """Shares are of the baseline's time. `required` empty: every trial that has a weight."""

    rule: str = "default"
    margin: float | None = None
    slower: float = 0.0
    slower_overall: float = 0.01
    families: tuple[str, ...] = ()
    weight: tuple[Choice, ...] = ()
    required: tuple[Choice, ...] = ()

    def weight_of(self, trial: Trial) -> float:
        return next((each.weight for each in reversed(self.weight) if each.fits(trial)), 1.0)

    def requires(self, trial: Trial) -> bool:
        if self.required:
            return any(each.fits(trial) for each in self.required)
        return self.weight_of(trial) > 0

    def comparison(self) -> Rule:
        """The rule of comparison, with this policy's margin in place of its own."""
        rule = RULES[self.rule]
        return rule if self.margin is None else replace(rule, margin=self.margin, short_margin=self.margin)


DEFAULT = Policy()
KNOWN = tuple(each.name for each in fields(Policy))
SHARES = ("margin", "slower", "slower_overall")
TABLES = ("weight", "required")


def load_policy(file: str | Path) -> Policy:
    """Raises ValueError that names the line, the key and what there is, OSError where the file cannot be read."""
    name = Path(file).name
    try:
        text = reading.read(file).decode("utf-8")
        read = tomllib.loads(text)
    except ValueError as problem:
        raise ValueError(f"{name} is not TOML: {problem}") from problem
    at = {key: f"{name}{_line(text, key)}" for key in read}
    _known(read, KNOWN, at)
    found: dict[str, Any] = {
        key: _number(read[key], f"{at[key]}: {key}", 1.0) for key in SHARES if key in read
    }
    found |= {key: _choices(read[key], key, name, text) for key in TABLES if key in read}
    found |= {"families": _names(read["families"], at["families"])} if "families" in read else {}
    if "rule" in read and read["rule"] not in tuple(RULES):
        raise ValueError(f"{at['rule']}: no rule {read['rule']!r}; there are {', '.join(RULES)}")
    return replace(DEFAULT, rule=read.get("rule", DEFAULT.rule), **found)


def _line(text: str, key: str, table: str = "", number: int = 0) -> str:
    """`, line 7` for a key, one of the number-th table if that is given; empty where it is written otherwise."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for _ in range(number):
        next((each for each in lines if each[1].strip().startswith(f"[[{table}]]")), None)
    written = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
    return next((f", line {place}" for place, line in lines if written.match(line)), "")


def _known(table: Mapping[str, Any], known: tuple[str, ...], at: Mapping[str, str]) -> None:
    unknown = [key for key in table if key not in known]
    if unknown:
        raise ValueError(f"{at[unknown[0]]}: {unknown[0]!r} is not known; there are {', '.join(known)}")


def _number(value: Any, where: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"{where} is a number from 0 to {most:g}, not {value!r}")
    return float(value)


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f'{where}: families is a list, such as ["SM90", "SM100"]')
    return tuple(value)


def _choices(value: Any, key: str, name: str, text: str) -> tuple[Choice, ...]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError(f"{name}{_line(text, key)}: {key} is written as tables, each under a line [[{key}]]")
    chosen = []
    for number, table in enumerate(value, start=1):
        at = {inner: f"{name}{_line(text, inner, key, number)}: {key}" for inner in table}
        chosen.append(_choice(table, at, f"{name}: {key}, table {number}", key == "weight"))
    return tuple(chosen)


def _choice(table: Mapping[str, Any], at: Mapping[str, str], where: str, weighs: bool) -> Choice:
    _known(table, ("kernel", "mode", "case") + ("weight",) * weighs, at)
    if weighs and "weight" not in table:
        raise ValueError(f"{where}: without its weight; write weight = 3, or 0 for no vote")
    weight = _number(table["weight"], at["weight"], 1e6) if weighs else 1.0
    kernel, mode, case = table.get("kernel", ""), table.get("mode", ""), table.get("case", {})
    if not isinstance(kernel, str) or not isinstance(mode, str) or not isinstance(case, dict):
        raise ValueError(f"{where}: kernel and mode are names, case is a table such as {{ batch = 64 }}")
    return Choice(kernel, mode, case, weight)
