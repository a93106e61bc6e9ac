"""How a run is made, and what it did."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """How a run is made. `limits_s` overrides single stages; `memory_mb` caps a worker's whole tree (0: none)."""

    results: Path
    gpu_index: int = 0
    wheels: Path | None = None
    environments_folder: Path = Path(".environments")
    effort: str = "default"
    limits_s: Mapping[str, float] = field(default_factory=dict)
    memory_mb: int | None = None
    again: bool = False
    wait: bool = True
    quiet: bool = False
    prebuilt: Path | None = None
    build: bool = False  # start builds of hours, too
    no_build: bool = False  # compile nothing: what is not built ahead is not run
    interleave: bool = False  # all environments by turns on one GPU, anew each time
    arms: int = 1  # of each environment; two are an A/A comparison of it with itself
    generations: int | None = None  # processes a side; None: what the effort says
    l2: str = "cold"
    reruns: bool = True  # further attempts at what has crashed, to say where
    purpose: str = ""  # why these attempts are made beyond a plan: they are stored as reruns and do not count
    name: str = ""  # of the run, where an engine may stop it and start it again: it goes on
    part: str = ""  # a folder below `results` for the lines of this run alone, where other nodes write, too
    patience_s: float = 0.0  # after a death from outside: what ended the worker may be about to end us


@dataclass
class Summary:
    """What a run did, and how its plan stands now. Seconds by stage; `waiting` is what no stage accounts for."""

    run: str
    planned: int
    skipped: int = 0
    outcomes: Counter[str] = field(
        default_factory=Counter
    )  # of the attempts just made; what was compiled is no ok
    standing: Counter[str] = field(default_factory=Counter)  # of all trials of the plan, stored before or not
    stored: Counter[str] = field(default_factory=Counter)  # of those that were stored before
    reruns: Counter[str] = field(default_factory=Counter)  # further attempts, by why they were made
    against: int = 0  # trials of the plan that speak against their environment
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    wall_s: float = 0.0
    stopped: str = ""
    files: set[str] = field(default_factory=set)
