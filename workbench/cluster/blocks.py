"""A plan cut into blocks: by GPU family, and a large one by kernel; never by environment."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench import planning
from workbench.environments import Environment
from workbench.gpus import Gpu
from workbench.planning import Kernel
from workbench.records import slug

from .places import Place

MOST_TRIALS = 500  # in one job, unless a single kernel has more
NOT_OF_THE_WORK = ("results", "gpu", "again", "no_wait", "dry_run", "json", "memory_mb", "wheels", "prebuilt")


@dataclass(frozen=True)
class Block:
    """What one job does. `options` are those of `workbench run`; `trials` are planned ones as plain objects.

    The name is the same for the same work, so that a second submission goes on where the first one stopped.
    """

    name: str
    family: str
    gpu: str
    options: dict[str, Any] = field(default_factory=dict)
    trials: list[dict[str, Any]] = field(default_factory=list)
    on_gpu: bool = True
    arch: str = ""  # what its modules are compiled for

    @property
    def cpu(self) -> str:
        return cpu_of(self.family)


def cpu_of(family: str) -> str:
    """What trials on the CPU of a family's node name as their device: nodes of two families have different ones."""
    return f"cpu of {family} node"


def blocks(
    options: Mapping[str, Any],
    kernels: Sequence[Kernel],
    environments: Sequence[Environment],
    places: Sequence[Place],
    most_trials: int = MOST_TRIALS,
    anew: str = "",
) -> list[Block]:
    """The blocks of a plan. `anew`: a word that keeps them apart from those of other submissions."""
    found = []
    for place in places:
        for group in _groups(kernels, environments, options["mode"], most_trials):
            found.append(_block(options, group, environments, place, anew))
    return [block for block in found if block.trials]


def _groups(
    kernels: Sequence[Kernel], environments: Sequence[Environment], modes: Sequence[str], most: int
) -> Iterable[list[Kernel]]:
    group: list[Kernel] = []
    size = 0
    for kernel in kernels:
        more = len(planning.plan([kernel], environments, modes or planning.MODES, None))
        if group and size + more > most:
            yield group
            group, size = [], 0
        group, size = [*group, kernel], size + more
    if group:
        yield group


def _block(
    options: Mapping[str, Any],
    kernels: Sequence[Kernel],
    environments: Sequence[Environment],
    place: Place,
    anew: str,
) -> Block:
    stand_in = Gpu(place.gpu, "", "", "", 0.0)  # until a node says what it has
    modes = options["mode"] or planning.MODES
    planned = planning.plan(kernels, environments, modes, stand_in, cpu_of(place.family))
    mine = {**options, **_named(options, kernels), "again": False}
    trials = [{"trial": asdict(each.trial), "kernel_hash": each.kernel.hash} for each in planned]
    asked = {name: value for name, value in mine.items() if name not in NOT_OF_THE_WORK}
    key = json.dumps([place.family, asked, [kernel.hash for kernel in kernels], anew], sort_keys=True)
    words = kernels[0].name if len(kernels) == 1 else f"{len(kernels)}-kernels"
    name = f"{place.family.lower()}-{slug(words)[:40]}-{hashlib.sha256(key.encode()).hexdigest()[:10]}"
    on_gpu = any(each.device == "cuda" for each in planned)
    return Block(name, place.family, place.gpu, mine, trials, on_gpu, place.arch)


def _named(options: Mapping[str, Any], kernels: Sequence[Kernel]) -> dict[str, list[str]]:
    """The kernels as `workbench run` is told of them: those of the workbench by name, a user's by file."""
    files = {str(kernel.file): kernel for kernel in kernels}
    own = [path for path in options["kernel_file"] if str(_absolute(path)) in files]
    known = {str(_absolute(path)) for path in own}
    names = [kernel.name for file, kernel in files.items() if file not in known]
    return {"kernel": names, "kernel_file": own}


def _absolute(path: str) -> Any:
    from pathlib import Path

    return Path(path).resolve()
