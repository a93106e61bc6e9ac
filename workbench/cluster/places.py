"""Where a GPU family lives: what a site's engine must be asked for, in a TOML file that a team shares.

[SM90]
constraint = "h100|h200"            # default: the family's name in small letters
gres = "gpu:1"                      # the default
partition = "hopper"
gpu = "NVIDIA H200"                 # the device's name, for lines of trials that never reached a node
arch = "9.0a"                       # what modules are compiled for ahead, as nvcc writes it; "": they are not
time = 240                          # minutes; all other keys are options of sbatch: account, qos, mem, nodelist ...

[cpu]                               # jobs without a GPU: preparing, and the pages
partition = "small"
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbench import reading

CPU = "cpu"
OURS = ("gpu", "arch", "time")
ARCHS = {"SM90": "9.0a", "SM100": "10.0a", "SM120": "12.0a"}  # a family's usual cards; a site may have others


@dataclass(frozen=True)
class Place:
    """How to ask for a GPU of a family. `asked` are options of sbatch without their dashes, `time_min` is minutes.

    `arch` is what modules are compiled for ahead, as nvcc writes it; empty where it is not known.
    """

    family: str
    gpu: str
    asked: Mapping[str, str | bool] = field(default_factory=dict)
    time_min: int = 240
    arch: str = ""


def read_places(file: str | Path | None, families: list[str], **given: str | int | None) -> list[Place]:
    """A place for each family named, or for all of the file; `given` (partition, time) goes before the file.

    Raises ValueError, OSError.
    """
    said = _read(file) if file else {}
    wanted = [_name(family) for family in families] or [name for name in said if name != CPU]
    if not wanted:
        raise ValueError("say for which GPU families: --families SM90 SM100, or a --constraint-map")
    return [_place(family, said.get(family, {}), given) for family in dict.fromkeys(wanted)]


def cpu_place(file: str | Path | None, **given: str | int | None) -> Place:
    """The place for what needs no GPU."""
    return _place(CPU, (_read(file) if file else {}).get(CPU, {}), given)


def _read(file: str | Path) -> dict[str, dict[str, object]]:
    try:
        read = tomllib.loads(reading.read(file).decode("utf-8"))
    except ValueError as problem:
        raise ValueError(f"{Path(file).name} is not TOML: {problem}") from problem
    if not read or not all(isinstance(each, dict) for each in read.values()):
        raise ValueError(f'{Path(file).name} holds tables such as [SM90] with constraint = "h100"')
    return {_name(name): each for name, each in read.items()}


def _name(text: str) -> str:
    if text.lower() == CPU:
        return CPU
    if not re.fullmatch(r"sm\d{2,3}x?", text.lower()):
        raise ValueError(f"{text!r} is no GPU family; write it like SM90, SM100 or SM120")
    return text.upper().replace("X", "x")


def _place(family: str, said: Mapping[str, object], given: Mapping[str, str | int | None]) -> Place:
    asked: dict[str, str | bool] = {} if family == CPU else {"constraint": family.lower(), "gres": "gpu:1"}
    for name, value in {**said, **{key: each for key, each in given.items() if each}}.items():
        if not re.fullmatch(r"[a-z][a-z-]*", name) or not isinstance(value, str | int | bool):
            raise ValueError(f"[{family}] {name}: options of sbatch have one text or number each")
        if "\n" in str(value):
            raise ValueError(f"[{family}] {name}: one line")
        if name not in OURS and value is not False and value != "":
            asked[name] = value if value is True else str(value)
        elif name not in OURS:
            asked.pop(name, None)
    minutes = given.get("time") or said.get("time", 240)
    if not isinstance(minutes, int) or isinstance(minutes, bool) or minutes < 1:
        raise ValueError(f"[{family}] time: whole minutes, at least 1")
    arch = str(said.get("arch", ARCHS.get(family, "")))
    if not re.fullmatch(r"(\d{1,2}\.\d[af]?)?", arch):
        raise ValueError(f"[{family}] arch: write it like 9.0a, 10.3a or 12.0f")
    return Place(family, str(said.get("gpu", family)), asked, minutes, arch)
