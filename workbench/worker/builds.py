"""FlashInfer's own compiling, made visible: a stage of its own, refused where it would take long, or spared.

FlashInfer compiles on the first call; hidden in another stage, a build of minutes would look like a hang, and
one of hours would start without anybody having asked for it. Modules that were built ahead are handed in by
path; which of them a kernel used is told, so that its results can be marked.
"""

import functools
import os
import pathlib
import sys
import threading
import types
from typing import Any

LARGE_SOURCES = 40  # FlashInfer's small modules have 4 to 16, the CUTLASS MoE ones 180 and more
SOURCE_S, SOURCE_MB = 180.0, 3000  # of one template-heavy source, for the estimate alone
LOOK_EVERY_S = 5.0
_NOW: dict[str, Any] = {}  # the trial at hand; the wrappers outlive it
_USED: dict[str, set[str]] = {}  # kernel file -> modules built ahead that it used


def announce(stage, tell, command, stopped):
    """Wrap FlashInfer's compile steps, each once; nothing is wrapped where FlashInfer was not imported."""
    _NOW.update(stage=stage, tell=tell, command=command, stopped=stopped, refusal=None)
    for spec in _specs():
        spec.build = _told(spec.build)
        for name, answer in _AHEAD:
            own = getattr(spec, name, None)
            if isinstance(own, property):
                setattr(spec, name, property(functools.partial(_ahead, own.fget, answer)))


def _specs():
    """The classes that compile and are not wrapped yet: JitSpec itself, or, later, one for each compiler below it."""
    modules = [sys.modules.get(f"flashinfer.jit.{name}") for name in ("core", "cute_dsl_core")]
    kinds = {kind for module in modules for kind in vars(module or types).values() if isinstance(kind, type)}
    builds = [(kind, vars(kind).get("build")) for kind in kinds if kind.__name__.startswith("JitSpec")]
    unfit = ("announced", "__isabstractmethod__")
    return [
        kind for kind, build in builds if build and not any(getattr(build, name, False) for name in unfit)
    ]


def used(kernel_file):
    """Names of the modules built ahead that this kernel has used in this worker."""
    return sorted(_USED.get(kernel_file, ()))


def caught():
    """Raises a refusal again that the library has caught: what it did instead is not what was asked for."""
    if _NOW.get("refusal"):
        raise _NOW["refusal"]


def _ahead(original, answer, spec):
    path = _NOW["command"].get("prebuilt", {}).get(spec.name)
    if path is None:
        return original(spec)
    kernel_file = _NOW["command"]["kernel_file"]
    if spec.name not in _USED.setdefault(kernel_file, set()):
        _USED[kernel_file].add(spec.name)
        _NOW["tell"](prebuilt=used(kernel_file))  # at once: the call may end the process
    return answer(path)


def _artifacts(path):
    """As if one more package of modules were installed, whose module fits any GPU."""
    return (sys.modules["flashinfer.jit.env"].AOTArtifact("workbench", pathlib.Path(path), None),)


# What JitSpec asks for a module built ahead; from 0.7.0 the second is what it loads.
_AHEAD = (("aot_path", pathlib.Path), ("aot_artifacts", _artifacts))


def _told(build):
    @functools.wraps(build)
    def told(spec, *arguments, **options):
        stage, before = _NOW["stage"], _NOW["stage"].name
        stage("build")
        _refuse(spec)
        done = threading.Event()
        threading.Thread(target=_say_progress, args=(spec, done), daemon=True).start()
        try:
            return build(spec, *arguments, **options)
        finally:
            done.set()
            stage(before)

    setattr(told, "announced", True)  # noqa: B010 - a function takes attributes; type checkers think not
    return told


def _refuse(spec):
    """A build of hours that nobody asked for, and any where nothing shall be compiled."""
    sources = len(getattr(spec, "sources", ()))
    if not sources:
        return  # CuTe DSL compiles as Triton does, without a compiler of the machine's
    if spec.name in _NOW["command"].get("prebuilt", {}):
        raise _refusal(
            f"the library did not take the module {spec.name} that was built ahead; what it printed says why: make it "
            "anew with `workbench prebuild`, or leave --prebuilt out"
        )
    if _NOW["command"].get("no_build") and not getattr(spec, "is_compiled", False):
        raise _refusal(
            f"the module {spec.name} is not there, and --no-build compiles nothing: make it with `workbench prebuild` "
            "and bring it with --prebuilt DIR, or leave --no-build out"
        )
    if sources <= LARGE_SOURCES or _NOW["command"].get("build") or _left(spec) == 0:
        return
    raise _refusal(
        f"the module {spec.name} is not built: {_left(spec)} sources, {_estimate(_left(spec))} on this machine; "
        "bring one with --prebuilt DIR, or start the build with --build"
    )


def _refusal(message):
    _NOW["tell"](refused=message)  # at once: what the library does instead may end the process
    _NOW["refusal"] = _NOW["stopped"]("not_run", message)
    return _NOW["refusal"]


def _left(spec):
    """How many objects are still to be made: by their number, for a version names them otherwise than it makes them."""
    place = getattr(spec, "ninja_path", None)
    made = len(list(place.parent.glob("*.o"))) if place else 0
    return max(0, len(spec.sources) - made)


def _estimate(sources):
    jobs = min(len(os.sched_getaffinity(0)), max(1, _memory_mb() // SOURCE_MB))
    hours = sources * SOURCE_S / jobs / 3600
    return f"about {hours:.1f} hours" if hours >= 1 else f"about {hours * 60:.0f} minutes"


def _memory_mb():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20


def _say_progress(spec, done):
    total = len(getattr(spec, "sources", ()))
    while not done.wait(LOOK_EVERY_S):
        made = total - _left(spec) if total else 0
        _NOW["tell"](building={"module": spec.name, "made": made, "of": total})
