"""Where it faults: the kernel, its file, the package that ships it, and the tensor beside which it happened."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import reruns
from workbench.results import Result
from workbench.untrusted import items, objects, part

NOT_KNOWN = "not known"
NAMESPACES = {"at::": "torch", "c10::": "torch", "flashinfer::": "flashinfer-python"}
"""Of C++ kernels: whose code has this namespace."""
KEPT = ("kernel", "by", "error", "file", "files", "package", "version", "modules")
BY = ("core dump", "sanitizer", "error text", "blocking launch")  # what named the kernel, the surest first

Part = dict[str, Any] | str


def where(own: Sequence[Result]) -> Part:
    faults = [
        (each, fault)
        for each in own
        if isinstance(fault := each.forensic.get("fault"), dict) and fault.get("kernel")
    ]
    if not faults:
        return NOT_KNOWN
    result, fault = min(
        faults, key=lambda pair: BY.index(pair[1]["by"]) if pair[1].get("by") in BY else len(BY)
    )
    found = {name: fault[name] for name in KEPT if name in fault}
    if "package" not in found and (package := _by_namespace(str(fault["kernel"]))):
        found |= {"package": package, "package_by": "the kernel's namespace"}
    elif "package" not in found and len(items(fault.get("modules"))) == 1:
        found |= {"package": "flashinfer-python", "package_by": "the JIT module that the call used"}
    if tensors := _tensors(own):
        found["tensors"] = tensors
    return {**found, "evidence": [result.trial.id]}


def _by_namespace(kernel: str) -> str:
    function = kernel.split("<")[0].split("(")[0].split(" ")[-1]
    return next((package for start, package in NAMESPACES.items() if function.startswith(start)), "")


def _tensors(own: Sequence[Result]) -> list[str]:
    """Those that a finding lies beside, or that crash the trial when they alone are fenced."""
    beside = [str(each["tensor"]) for result in own for each in findings(result) if each.get("tensor")]
    return list(dict.fromkeys([*beside, *reruns.guilty(own)]))


def findings(result: Result) -> Sequence[Mapping[str, Any]]:
    return objects(part(result.forensic, "sanitizer", "findings"))
