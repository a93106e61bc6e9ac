"""What every kernel promises, and what it asks of its library: `tests/cases/asked/`, a readable file for each.

    python tests/kernels_reference/asked.py             # what is not as it was
    python tests/kernels_reference/asked.py --write     # writes all of them anew

A promise is a plain constant of the file, `TOLERANCE` and `CASES` among them; of the files that kernels share, too.
What is asked are the calls that `prepare` and the prepared call make: each kind of case once, small, into stand-ins
with the parameters of the latest and of the earliest release known; the latter only where something differs. A
tensor is told by its type, shape, strides if it is not contiguous, and the range of its values: all NaN is memory
that was not written.
"""

import argparse
import dataclasses
import importlib
import json
import pkgutil
import textwrap
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import torch  # noqa: TID253
from release_stand_ins import RELEASES, cases, drawn, member, put_release, stand_in
from triton_stand_ins import PARAMETERS, name_in, put_package

from workbench import kernels
from workbench.kernels import _draw, _triton_kernels

FOLDER = Path(__file__).parents[1] / "cases" / "asked"
WIDE = 110
MORE = {  # what no case of CASES has, and `inputs` takes
    "mxfp4_combine": dict(pad_scales=True),
    "mxfp4_mlp": dict(pad_scales=True),
    "mxfp4_swiglu": dict(pad_scales=True),
}
LARGEST_SHOWN = 1 << 16  # larger integers are codes, several in one


def records():
    """Name -> what is to be in its file, of all kernels and of the files that they share."""
    shared = [each.name for each in pkgutil.iter_modules(kernels.__path__) if each.name.startswith("_")]
    made = {name: promised(importlib.import_module(f"workbench.kernels.{name}")) for name in shared}
    made = {name: record for name, record in made.items() if record}
    return made | {name: of_kernel(name) for name in kernels.names()}


def promised(module):
    """Its public constants that are plain."""
    named = {name: value for name, value in vars(module).items() if name.isupper() and name[0] != "_"}
    return {name: value for name, value in map(plain, named.items()) if value is not NotImplemented}


def plain(item):
    """The value as JSON has it; NotImplemented where it has not."""
    name, value = item
    try:
        return name, json.loads(json.dumps(value))
    except TypeError:
        return name, NotImplemented


def of_kernel(name):
    kernel = kernels.get(name)
    record = promised(kernel)
    record["CASES"] = [said(case) for case in kernel.CASES]
    made = [*drawn(name), *((case, kernel.inputs(**case)) for case in more(kernel, name))]
    versions = list(PARAMETERS) if "triton_kernels" in kernel.API else RELEASES
    latest, earliest = (
        {said(case): calls(kernel, version, inputs) for case, inputs in made}
        for version in (versions[-1], versions[0])
    )
    record["asked"] = latest
    record[f"asked in {versions[0]}"] = {
        case: asked for case, asked in earliest.items() if asked != latest[case]
    }
    return record


def more(kernel, name):
    return [dict(cases(kernel)[0], **MORE[name])] if name in MORE else []


def said(case):
    return " ".join(f"{name}={value}" for name, value in case.items())


def calls(kernel, version, inputs):
    """The calls in their order, numbered; the buffers that are written in place; or why there are none."""
    made = {}

    def heard(name, given):
        number = len(made) + ("outputs" not in made)
        made[f"{number} {name}"] = described(given)

    with pytest.MonkeyPatch.context() as monkeypatch:
        function = library(kernel, version, monkeypatch, heard)
        if function is None:
            return {"refused": "absent"}
        try:
            call = kernel.prepare(function, dict(inputs))
            made["outputs"] = described(getattr(call, "outputs", None))
            call()
        except NotImplementedError as problem:
            return {"refused": str(problem)}
    return made


def library(kernel, version, monkeypatch, heard):
    """The kernel's function in a library of that version, which tells what it is called with."""
    if "triton_kernels" not in kernel.API:
        put_release(monkeypatch, version, heard)
        return member(kernel.API)
    put_package(monkeypatch, version, heard)
    on_this_device = _triton_kernels.persist_on_blackwell
    on_blackwell = lambda library, device: on_this_device(library, torch.device("cuda"))  # noqa: E731
    monkeypatch.setattr(_triton_kernels, "persist_on_blackwell", on_blackwell)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (10, 0))
    name = f"triton_kernels.{name_in(version)}"
    function = stand_in(f"{name}.{name_in(version)}", PARAMETERS[version], heard)
    function.__module__ = name
    return function


def described(value):
    """A value as JSON has it: no address, no order of a hash."""
    if isinstance(value, torch.Tensor):
        return of_tensor(value)
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name} = {value.value}"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [described(each) for each in value]
    if isinstance(value, MagicMock):
        return repr(value).split("'")[1]
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, dict):
        return {name: described(each) for name, each in value.items()}
    if dataclasses.is_dataclass(value) or isinstance(value, SimpleNamespace):
        return {type(value).__name__: described(vars(value))}
    return type(value).__name__


def of_tensor(value):
    strides = "" if value.is_contiguous() else f" strides {list(value.stride())}"
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}{strides}{span(value)}"


def span(value):
    """The smallest and the largest value; of drawn ones two digits, which hold from one torch to the next."""
    wide = value.double() if value.is_floating_point() else value.long()
    numbers = wide[~wide.isnan()]
    if not len(numbers):
        return ", all NaN" if wide.numel() else ""
    low, high = numbers.min().item(), numbers.max().item()
    among = ", NaN" if len(numbers) < wide.numel() else ""
    if low == high:
        return f"{among}, all {low:.6g}"
    if value.is_floating_point():
        return f"{among}, {low:.2g} to {high:.2g}"
    return f", {low} to {high}" if max(-low, high) < LARGEST_SHOWN else ""


def text(value, indent=0, before=0):
    """JSON; what fits in a line, after so many characters, is in one."""
    line = json.dumps(value)
    fits = indent and indent + before + len(line) <= WIDE
    if fits or not value or not isinstance(value, dict | list):
        return line
    inner = " " * (indent + 1)
    if isinstance(value, list):
        parts, (opened, closed) = [text(each, indent + 1) for each in value], "[]"
    else:
        named = [(f"{json.dumps(name)}: ", each) for name, each in value.items()]
        parts, (opened, closed) = [name + text(each, indent + 1, len(name)) for name, each in named], "{}"
    return f"{opened}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closed}"


def stored():
    return {file.stem: json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))}


def differences(was, now, where=""):
    """A sentence for each: where, what it was, what it is."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*was, *now)):
            place = f"{where} | {name}" if where else name
            yield from differences(was.get(name, "nothing"), now.get(name, "nothing"), place)
    elif isinstance(was, list) and isinstance(now, list) and set(map(str, was)) != set(map(str, now)):
        yield from (f"{where}: gone is {brief(each)}" for each in was if each not in now)
        yield from (f"{where}: new is {brief(each)}" for each in now if each not in was)
    elif was != now:
        yield f"{where}: was {brief(was)}, is {brief(now)}"


def brief(value):
    return textwrap.shorten(str(value), 200, placeholder=" ...")


def drawn_records():
    """The records, drawn on the CPU, with NaN in memory that was not written."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(_draw, "device", lambda: torch.device("cpu"))
        torch.set_num_threads(1)  # the shapes are small; threads would only wait
        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True)  # torch.empty is NaN then
        try:
            return records()
        finally:
            torch.use_deterministic_algorithms(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true")
    made = drawn_records()
    if not parser.parse_args().write:
        print("\n".join(differences(stored(), made)) or "nothing differs")
        return
    FOLDER.mkdir(exist_ok=True)
    for file in FOLDER.glob("*.json"):
        file.unlink()
    for name, record in made.items():
        (FOLDER / f"{name}.json").write_text(text(record) + "\n")


if __name__ == "__main__":
    main()
