"""Makes the line that is stored out of what an attempt told: capped, and without the names of people or hosts."""

import getpass
import json
import os
import re
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from workbench import __version__
from workbench.environments import BuildError, Built
from workbench.gpus import Gpu, links
from workbench.judge import Judgement
from workbench.planning import Planned
from workbench.prebuilt import Module
from workbench.results import Outcome, Result
from workbench.workers import Told

KEPT_CHARACTERS = 6000
STARTED = "%Y-%m-%dT%H:%M:%SZ"
KEPT_VARIABLES = ("FLASHINFER_", "TRITON_", "CUDA_", "TORCH_", "PYTORCH_", "NCCL_")


def result(
    planned: Planned,
    told: Told,
    judgement: Judgement,
    built: Built | BuildError,
    gpu: Gpu | None,
    run: str,
    attempt: int,
    ahead: Mapping[str, Module],
    cards: Sequence[Gpu] = (),
) -> Result:
    """The Result of an attempt; attempt 0 is the line of a plan and says little of where it would run.

    `cards` are all that the ranks of the trial had, where there were several.
    """
    ok = judgement.outcome == Outcome.OK
    return Result(
        trial=planned.trial,
        run=run,
        outcome=judgement.outcome,
        reason=judgement.reason,
        detail=scrub(judgement.detail),
        stage=told.stage,
        attempt=attempt,
        stages=told.stages,
        found=_scrubbed(_dict(told.facts.get("found"))),
        check=_checks(told.facts),
        time=_time(told.facts) if ok else {},
        forensic=_scrubbed(_forensic(told.facts)),
        marks=marks(told, ahead),
        stderr=scrub(_kept(told.stderr)),
        stdout=scrub(_kept(told.stdout)),
        kernel_hash=planned.kernel.hash,
        inputs_hash=str(told.facts.get("inputs_hash", "")),
        provenance={**_provenance(planned, built, gpu), **_cards(cards)}
        if attempt
        else {"environment": {"hash": _hash(built)}},
    )


def marks(told: Told, ahead: Mapping[str, Module]) -> list[str]:
    """What must be said of the modules built ahead that the trial used."""
    used = [ahead[name] for name in told.facts.get("prebuilt", ()) if name in ahead]
    return [f"{module.name} built ahead: {module.mark}" for module in used if module.mark]


def place(planned: Planned, built: Built | BuildError, gpu: Gpu | None) -> Path:
    """One file per card and environment, so that two machines never write to the same one."""
    where = f"{slug(gpu.name)}-{gpu.uuid_hash}" if gpu else slug(planned.trial.gpu)
    tail = f"-{_hash(built)[:8]}" if _hash(built) else ""
    return Path(where) / f"{slug(planned.environment.name)}{tail}.jsonl"


def slug(text: str) -> str:
    """Letters, digits, dots and dashes alone: a file name whatever the text was."""
    kept = "".join(
        each if each.isascii() and (each.isalnum() or each == ".") else "-" for each in text.lower()
    )
    return "-".join(part for part in kept.split("-") if part).strip(".")[:80] or "unnamed"


def scrub(text: str) -> str:
    """The text without this machine's name, this user's name, and the folders of his home and of the workbench."""
    for private, shown in _private():
        text = re.sub(private, shown, text)
    return text


def _scrubbed(facts: dict[str, Any]) -> dict[str, Any]:
    """As `scrub`, for text within; a signature shows defaults, and a default may be a path."""
    scrubbed: dict[str, Any] = json.loads(scrub(json.dumps(facts, ensure_ascii=False)))
    return scrubbed


@cache
def _private() -> tuple[tuple[str, str], ...]:
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where nobody has one
    ours, user = str(Path(__file__).parents[1]), str(Path.cwd())
    found = [(re.escape(ours) + r"/(?=workbench/|tests/|benchmarks/)", "")] if len(ours) > 1 else []
    found += [(re.escape(user) + r"/(?=\.environments/)", "")] if len(user) > 1 else []
    found += (
        [(rf"(?<=working directory is ){re.escape(user)}\b", ".")] if len(user) > 1 else []
    )  # a core dump's words
    found += [(re.escape(home) + r"(?=/|\b)", "~")] if len(home) > 1 else []  # not "/", a container's
    for name, shown in ((_user(), "USER"), (socket.gethostname(), "HOST")):
        if len(name) > 2 and name not in ("root", "localhost"):
            found.append((rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", shown))
    return tuple(found)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return ""


def _hash(built: Built | BuildError) -> str:
    return built.hash if isinstance(built, Built) else ""


def _provenance(planned: Planned, built: Built | BuildError, gpu: Gpu | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "environment": _environment(planned, built),
        "workbench": __version__,
        "started": f"{datetime.now(UTC):{STARTED}}",
        "variables": _variables(),
    }
    if block := os.environ.get("WORKBENCH_BLOCK"):
        facts["block"] = json.loads(block)
    if gpu:
        facts["gpu"] = {
            "name": gpu.name,
            "sm": gpu.sm,
            "uuid_hash": gpu.uuid_hash,
            "driver": gpu.driver,
            "memory_gib": gpu.memory_gib,
        }
    return facts


def _cards(cards: Sequence[Gpu]) -> dict[str, Any]:
    if len(cards) < 2:
        return {}
    return {"gpus": [card.uuid_hash for card in cards], "topology": links(cards)}


def _environment(planned: Planned, built: Built | BuildError) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": planned.environment.name,
        "requirements": [_carried(each) for each in planned.environment.requirements],
        "hash": _hash(built),
    }
    return facts | built.provenance() if isinstance(built, Built) else facts


def _carried(requirement: str) -> str:
    """A wheel by its file's name: its folder is this machine's own."""
    return Path(requirement).name if requirement.startswith("/") else requirement


def _variables() -> dict[str, str]:
    kept = {name: scrub(value[:200]) for name, value in os.environ.items() if name.startswith(KEPT_VARIABLES)}
    return dict(sorted(kept.items()))


def _kept(text: str) -> str:
    if len(text) <= KEPT_CHARACTERS:
        return text
    half = KEPT_CHARACTERS // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def _checks(facts: Mapping[str, Any]) -> dict[str, Any]:
    check, changed = _dict(facts.get("check")), _dict(facts.get("check_changed"))
    return {**check, "changed_inputs": changed} if changed else check


def _time(facts: Mapping[str, Any]) -> dict[str, Any]:
    tuning = _dict(facts.get("tuning"))
    return {**_dict(facts.get("time")), **({"tuning": tuning} if tuning else {})}


def _forensic(facts: Mapping[str, Any]) -> dict[str, Any]:
    ladder = _dict(facts.get("piecewise"))
    return {**_dict(facts.get("forensic")), **({"piecewise": ladder} if ladder else {})}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
