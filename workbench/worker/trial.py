"""The stages of one trial, in order: import, find, prepare, tune, first_call, check, capture, replay, time."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from typing import Any

from . import (
    artifacts,
    builds,
    compiled,
    fence,
    find,
    graph,
    mapping,
    named,
    piecewise,
    poison,
    ranks,
    tuning,
    values,
)

DEVICE_STAGES = ("build", "prepare", "tune", "first_call", "check", "capture", "replay", "time")


class Stopped(Exception):
    """The trial cannot go on, and nothing is broken: `reason` is a class of the judge, the text says why."""

    def __init__(self, reason, text):
        super().__init__(text)
        self.reason = reason


class Stage:
    """Where the trial is. Entering a stage tells it, so that the last one told is where it died."""

    def __init__(self, tell):
        self.tell, self.name = tell, ""
        self.real = True  # False where the device is pretended: nothing of it can break

    def __call__(self, name):
        self.name = name
        self.tell(stage=name)

    @property
    def touches_device(self):
        return self.real and self.name in DEVICE_STAGES


def run(command, stage, tell):
    stage("import")
    if ranks.bystander():
        ranks.join(command["device"])
        stage("done")
        return
    kernel = load(command["kernel_file"])
    equipped(kernel)
    if command["mode"] == "compiled":
        on_its_family(kernel, command["sm"], stage)
        compiled.run(command, kernel, stage, tell, Stopped)
        return
    function = find.api(kernel, stage, tell)
    builds.announce(stage, tell, command, Stopped)
    if command["device"] is None:
        raise Stopped("not_run", "no GPU here: installed, imported and found, not called")
    if command.get("ready"):
        get_ready(command["device"])
        return
    try:
        called(command, kernel, function, stage, tell)
    finally:
        tell(prebuilt=builds.used(command["kernel_file"]))
    mapping.give_back()


def get_ready(device):
    """What a process needs once, before anything is timed: a context on the device, and CUPTI."""
    if device == "cuda":
        from . import stopwatch

        stopwatch.get_ready()


def called(command, kernel, function, stage, tell):
    """The stages that need a device. What was kept from the visit before is neither made nor checked again."""
    key = (command["kernel_file"], json.dumps(command["case"], sort_keys=True), command["mode"])
    kept = key in KEPT and not fence.edge(command)
    if not kept:
        if command["device"] == "cuda":
            on_its_family(kernel, command["sm"], stage)
        built(command["kernel_file"], kernel, stage)
        if command.get("build_only"):
            stage("done")
            return
        stage("prepare")
        ranks.join(command["device"])
        KEPT.clear()
        values.release()
        found = ready(command, kernel, function, stage, tell)
        if command.get("keep") and found[0] is not None:
            KEPT[key] = found
    else:
        found = KEPT[key]
        tell(**found[1])
    if found[0] is not None:
        clock(command, found[0], kept, stage, tell)
    stage("done")


def built(kernel_file, kernel, stage):
    """Let the kernel compile what it needs, once a worker: before ranks meet, and under the limit of a build."""
    if hasattr(kernel, "build") and kernel_file not in BUILT:
        stage("build")
        kernel.build()
        BUILT.add(kernel_file)


BUILT: set[str] = set()  # kernel files


KEPT: dict[Any, Any] = {}  # at most one: what may be timed, what was told of it, and all that it needs alive


CEILINGS: dict[str, float] = {}


def clock(command, timed, kept, stage, tell):
    from . import anchor, stopwatch

    stage("time")
    facts = stopwatch.measure(timed, command["device"], command["effort"], command.get("l2", "cold"), kept)
    if command.get("anchor") and command["device"] != "cpu":
        facts["anchor_us"] = anchor.measure()
        if not CEILINGS:
            CEILINGS.update(anchor.ceilings())
            values.release()
        facts["ceilings"] = CEILINGS
    tell(time=facts)


def ready(command, kernel, function, stage, tell):
    """What may be timed (None where an answer is wrong), the facts told of it, and what must stay alive.

    Behind a fence, and under a tool, nothing is timed.
    """
    case, mode = command["case"], command["mode"]
    if fetches(kernel, command["sm"], case):
        artifacts.require(Stopped)
    told = {}

    def tell_and_keep(**facts):
        told.update(facts)
        tell(**facts)

    tuning.forget()
    inputs = kernel.inputs(**case)
    tell_and_keep(inputs_hash=values.digest(inputs))
    call = watched(command, kernel, prepared(kernel, function, inputs), inputs, tell_and_keep)
    if tuning.wanted(mode):
        tuning.tuned(call, stage, tell_and_keep, Stopped)
        mode = mode[: -len(tuning.TUNED)]
    stage("first_call")
    sizes = called_once(kernel, call, command["device"])
    builds.caught()
    if is_sanitized(mode) or mode in ("eager", "fenced", "fenced_start"):
        timed = eager(kernel, call, inputs, case, sizes, stage, tell_and_keep)
    elif mode == "graph":
        timed = graph.captured(kernel, call, inputs, case, stage, tell_and_keep)
    elif mode in ("piecewise", "piecewise+fenced"):
        timed = piecewise.captured(kernel, function, inputs, case, stage, tell_and_keep)
    else:
        raise Stopped("not_run", f"this workbench has no mode {mode!r}")
    untimed = fence.edge(command) or is_sanitized(mode)
    return None if untimed else timed, told, (call, inputs)


def watched(command, kernel, call, inputs, tell):
    """The call behind the fence that its mode asks for; a sanitizer is told which tensor lies where."""
    if fence.edge(command):
        call = fence.behind(command, kernel, call, inputs, tell, Stopped)
    if is_sanitized(command["mode"]):
        tell(tensors=named.places(call, inputs))
    return call


def is_sanitized(mode):
    return mode.partition("+")[0] == "sanitized"


def called_once(kernel, call, device):
    """The sizes of what the call has written; nothing of it is kept."""
    written = values.tensors(raw(kernel, call()))
    values.synchronize(device)
    return [values.size(each) for each in written]


def load(file):
    """The kernel's module, as a member of its folder, so that its `from . import _shapes` works here too."""
    from . import start

    folder, name = os.path.split(file)
    package = "kernels_" + values.short_hash(folder)
    if package not in sys.modules:
        start.package(package, folder)
    name = f"{package}.{name[: -len('.py')].replace('.', '_')}"
    if name not in sys.modules:
        loader = Anew(name, file)
        spec = importlib.util.spec_from_loader(name, loader)
        assert spec is not None  # our own loader always gives one
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


class Anew(importlib.machinery.SourceFileLoader):
    """Reads the source itself: compiled files are told apart by size and second, and may be an older text's."""

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


def equipped(kernel):
    """Raises Stopped where a package is not there without which the library leaves the function out."""
    for module, package in getattr(kernel, "NEEDS", {}).items():
        if importlib.util.find_spec(module) is None:
            how = f"run it with --environment 'flashinfer==X {package}==Y'"
            raise Stopped("component_missing", f"{package} is not in this environment; {how}")


def on_its_family(kernel, sm, stage):
    """Raises Stopped, at `prepare`, where the kernel's file leaves the family out: before anything is built."""
    families = getattr(kernel, "SMS", ())
    if sm and families and int(sm.replace(".", "")) not in families:
        stage("prepare")
        *most, last = (f"SM{each}" for each in families)
        named = f"{', '.join(most)} and {last}" if most else last
        raise Stopped("unsupported_arch", f"by this kernel's file the library has it for {named} alone")


def fetches(kernel, sm, case):
    """Whether the call fetches kernels from the vendor. Raises Stopped where the family has none for this case."""
    try:
        return hasattr(kernel, "needs_artifacts") and kernel.needs_artifacts(sm=sm, **case)
    except NotImplementedError as problem:
        raise Stopped("unsupported_arch", str(problem)) from problem


def prepared(kernel, function, inputs):
    try:
        return kernel.prepare(function, inputs)
    except NotImplementedError as problem:
        raise Stopped("no_kernel_for_config", str(problem)) from problem


def raw(kernel, result):
    return kernel.raw(result) if hasattr(kernel, "raw") else result


def eager(kernel, call, inputs, case, sizes, stage, tell):
    """Check the answer over poisoned memory, twice; what may be timed, or None where an answer is wrong."""
    stage("check")
    for name in ("check", "check_changed") if kernel.VARIES else ("check",):
        if name == "check_changed":
            change(kernel, inputs, case)
        poison.before(call, sizes)
        if not right(kernel, call(), inputs, tell, name):
            return None
    return call


def change(kernel, inputs, case):
    """Copy other values into the inputs in place: who keeps an old answer, or old inputs, is found."""
    other = kernel.inputs(**case, seed=1)
    for name in kernel.VARIES:
        inputs[name].copy_(other[name])


def right(kernel, result, inputs, tell, name="check"):
    from . import check

    untouched = poison.untouched(values.tensors(raw(kernel, result)))
    got = kernel.outputs(result, inputs) if hasattr(kernel, "outputs") else {"out": result}
    started = time.monotonic()
    facts = check.compare(got, kernel.reference(inputs), kernel.TOLERANCE)
    facts.update(untouched=untouched, reference_s=round(time.monotonic() - started, 3))
    tell(**{name: json.loads(json.dumps(facts))})
    return ranks.all_say(facts["right"])
