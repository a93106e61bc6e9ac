"""What was submitted, as a file beside the results: whoever sees the disk can say how it stands."""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from workbench.order import later
from workbench.results import Trial
from workbench.store import load
from workbench.strict_json import json_in

from .blocks import Block

FOLDER, LINES = "cluster", "blocks"
PAGES = "pages"  # the last job, as a block is called


@dataclass
class Submission:
    """Blocks, and the engine's numbers of their jobs. `results` is the folder on the shared disk.

    `refused`: what the engine said to blocks that it did not take. `site` is where the last job writes its pages.
    """

    id: str
    results: Path
    engine: str
    blocks: list[Block]
    jobs: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    site: str = ""
    notebooks: str = "notebooks"
    queue: dict[str, Any] = field(default_factory=dict)  # process of this machine's own queue

    @property
    def folder(self) -> Path:
        return self.results / FOLDER / self.id

    @property
    def file(self) -> Path:
        return self.folder / "submission.json"

    @property
    def cancelled(self) -> bool:
        return (self.folder / "cancelled").exists()

    @property
    def builds(self) -> bool:
        """Whether there is an environment to build, and not just an interpreter to use."""
        return any(block.options["environment"] not in ([], ["here"]) for block in self.blocks)

    @property
    def families(self) -> list[str]:
        """Those that a block may still be run for."""
        return list(dict.fromkeys(block.family for block in self.blocks if block.name not in self.refused))

    def block(self, name: str) -> Block:
        return next(block for block in self.blocks if block.name == name)

    def lines(self, block: Block) -> Path:
        """Where the result lines of the block are; shared by all submissions of the same work."""
        return self.results / LINES / block.name

    def run(self, block: Block) -> str:
        """By what its attempts are known."""
        return f"{self.id}-{block.name}"

    def mark(self, what: str, block: str) -> Path:
        """The file that says that a block has `started`, `ended` or `failed`."""
        return self.folder / f"{block}.{what}.json"

    def ended(self, block: Block) -> dict[str, Any]:
        """What its job said at its end; empty where none has."""
        return read(self.mark("ended", block.name))

    def save(self) -> None:
        facts = {**asdict(self), "results": str(self.results)}
        write(self.file, facts)


def new_id(results: Path) -> str:
    """By name in the order of time, also within a second, and where the clock was set back since the newest there."""
    names = (each.name[:20] for each in (results / FOLDER).glob("*"))
    now = later(datetime.now(UTC), names, "%Y%m%dT%H%M%SZ-%f", timedelta(milliseconds=1))
    return f"{now:%Y%m%dT%H%M%SZ}-{now.microsecond // 1000:03d}{secrets.token_hex(2)}"


def open_submission(file: Path) -> Submission:
    """Raises ValueError where the file is none, OSError."""
    facts = json_in(file)
    try:
        facts["blocks"] = [Block(**each) for each in facts["blocks"]]
        return Submission(**{**facts, "results": file.parents[2]})  # a folder may have been moved
    except (TypeError, KeyError) as problem:
        raise ValueError(f"{file} is no submission: {problem}") from problem


def submissions(results: Path) -> list[Submission]:
    """All below a results folder, the oldest first."""
    return [open_submission(file) for file in sorted((results / FOLDER).glob("*/submission.json"))]


def newest(results: Path, name: str = "") -> Submission:
    """The newest, or the one of that name. Raises ValueError."""
    found = [each for each in submissions(results) if not name or each.id == name]
    if not found:
        which = f"no submission {name!r}" if name else "nothing was submitted"
        raise ValueError(
            f"{which} with results in {results}; `workbench submit` does, --results names another"
        )
    return found[-1]


def missing(submission: Submission, block: Block) -> list[dict[str, Any]]:
    """The planned trials of a block that no attempt was made at, under the name of the GPU that its node has."""
    stored = load(submission.lines(block))
    gpus = {result.trial.gpu for result in stored} - {block.cpu, "none", block.gpu}
    tried = {result.trial for result in stored if result.attempt > 0}
    found = []
    for each in block.trials:
        trial = dict(each["trial"])
        if trial["gpu"] == block.gpu and len(gpus) == 1:
            trial["gpu"] = next(iter(gpus))
        if Trial(**trial) not in tried:
            found.append({**each, "trial": trial})
    return found


def write(file: Path, facts: Mapping[str, Any]) -> None:
    """Whole or not at all: a reader on another node never sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with part.open("w", encoding="utf-8") as out:
            json.dump(facts, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def read(file: Path) -> dict[str, Any]:
    """Its object; empty where there is no such file, or not a whole one."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
