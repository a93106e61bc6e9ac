"""Made-up results for tests of the pages: every outcome, flaky trials, hostile text. Nothing was measured."""

import random
from itertools import product
from pathlib import Path
from typing import Any

from workbench.results import OUTCOME_OF_REASON, Outcome, Result, Results, Trial
from workbench.store import save

OLD, NEW = "example 1", "example 2"
STACKS = (
    "sglang 0.5.11",
    "sglang 0.5.12",
)  # the names that a page asks for; all that is said of them is made up
GPUS = ("Example GPU A", "Example GPU B")
TOKENS = (1, 16, 128, 1024, 8192)
TAGS = '<script>alert(1)</script><img src=x onerror=alert(2)> & "quoted"'
HOSTILE = TAGS + " \x1b[31mred\x1b]0;title\x07 \u202e\x00$x^2$"
HUGE = "<b>" + "y" * 1_000_000
SIGNATURES = {
    OLD: "(input, global_scale=None, sf_vec_size: int = 16, is_sf_swizzled_layout: bool = True)",
    NEW: "(input, global_scale=None, sf_vec_size: int = 16, backend=1, is_sf_swizzled_layout: bool = False)",
}
SIGNATURES |= dict.fromkeys(STACKS, SIGNATURES[OLD])
BAD = {
    "wrong_numbers": ("check", "worst row is off by 0.91, allowed 0.02"),
    "measurement_invalid": ("time", "35.1 TB/s, the hardware has 4.8"),
    "unsupported_arch": ("first_call", "No supported CUDA architectures found for major versions [10, 12]"),
    "api_changed": ("find", "module 'example' has no attribute 'quantize'"),
    "jit_compile_failure": ("build", "ninja: build stopped: subcommand failed."),
    "illegal_memory_access": (
        "first_call",
        "CUDA error at 0x7f00deadbeef: an illegal memory access was encountered",
    ),
    "hang_timeout": ("first_call", "no fact for 120 s"),
    "oom": ("inputs", "CUDA out of memory. Tried to allocate 96.00 GiB"),
    "not_built": ("install", "no version of example-package==9 can be had"),
    "not_exercised": ("check", "another kernel ran: fallback_gemm"),
    "missing_cubin": ("prepare", "the artifact server cannot be reached"),
}


def results() -> Results:
    return Results(tuple([*_ladder(), *_bad(), *_flaky(), *_hostile()]))


def few() -> Results:
    """Enough for every page to have something on it, and quick to draw."""
    first = [result for result in _ladder() if result.trial.gpu == GPUS[0] and result.trial.mode == "eager"]
    return Results(tuple([*_stacks(), *first[:2], *_bad()[-2:]]))


def written(folder: Path, chosen: Results | None = None) -> Path:
    """All of them, or the chosen ones, as lines under `folder`."""
    for result in chosen or results():
        save(result, folder / "example.jsonl")
    return folder


def one(kernel: str, case: dict[str, Any], environment: str, reason: str = "ok", **facts: Any) -> Result:
    """A made-up attempt in mode eager on the first GPU, unless `facts` say otherwise."""
    trial = Trial(kernel, case, facts.pop("mode", "eager"), environment, facts.pop("gpu", GPUS[0]))
    known = {"provenance": _provenance(trial), "found": _found(environment)} | facts
    return Result(trial, "made-up", OUTCOME_OF_REASON[reason], reason, **known)


def timed(
    median_us: float, floor_us: float | None, seed: int, throttle: list[str] | None = None
) -> dict[str, Any]:
    noise = random.Random(seed)
    samples = sorted(median_us * noise.uniform(0.97, 1.06) for _ in range(21))
    middle = dict(median_us=samples[10], q1_us=samples[5], q3_us=samples[15], min_us=samples[0])
    clocks = {"sm_mhz": 1980, "power_w": 400.0, "temperature_c": 50, "throttle": throttle or []}
    more = dict(
        timer="cuda_events", taken=21, floor_us=floor_us, host_median_us=None, l2="cold", flush_bytes=0
    )
    return {"samples_us": samples, "clocks": clocks, **middle, **more}


def _ladder() -> list[Result]:
    found = []
    for seed, (gpu, environment, mode) in enumerate(
        (gpu, environment, mode) for gpu in GPUS for environment in (OLD, NEW) for mode in ("eager", "graph")
    ):
        for tokens in TOKENS:
            floor_us = 0.4 + tokens * 0.03
            median_us = floor_us * 1.6 + (9 if mode == "eager" else 3) + (2 if environment == NEW else 0)
            time = timed(
                median_us, floor_us, seed + tokens, ["sw_power_cap"] if tokens == 8192 and seed == 3 else []
            )
            case = {"tokens": tokens, "hidden": 2880}
            found.append(
                one("example_quantize", case, environment, mode=mode, gpu=gpu, stage="done", time=time)
            )
    return found


def _stacks() -> list[Result]:
    """Two environments with pins, as a stack's are, measured by turns and each against itself."""
    found = []
    for seed, name in enumerate(STACKS):
        trial = Trial("example_quantize", {"tokens": 16, "hidden": 2880}, "eager", name, GPUS[0])
        facts = _provenance(trial)
        facts["environment"]["hash"] = f"{seed}" * 64
        facts["environment"]["pins"] = {
            "example-kernels": {"pinned": f"=={seed}", "has": "2.0.0", "state": "met"}
        }
        for number, (arm, generation, visit) in enumerate(product("ab", (1, 2, 3), (1, 2)), start=1):
            turn = dict(arm=arm, generation=generation, visit=visit, attempt=number, provenance=facts)
            found.append(one(trial.kernel, trial.case, name, time=timed(12.0, 1.0, seed + number), **turn))
    return found


def _bad() -> list[Result]:
    found = []
    for place, (reason, (stage, detail)) in enumerate(BAD.items()):
        case = {"batch": 2**place, "length": 1024}
        found.append(
            one("example_attention", case, OLD, stage="done", time=timed(50.0 * 2**place, 20.0, place))
        )
        found.append(
            one("example_attention", case, NEW, reason, stage=stage, detail=detail, stderr=f"line\n{detail}")
        )
    return found


def _flaky() -> list[Result]:
    case = {"batch": 1, "length": 131072}
    ends = ("ok", "illegal_memory_access", "ok", "illegal_memory_access", "ok")
    return [
        one(
            "example_attention",
            case,
            OLD,
            end,
            attempt=number,
            stage="first_call",
            detail="" if end == "ok" else "a fault",
        )
        for number, end in enumerate(ends, start=1)
    ]


def _hostile() -> list[Result]:
    case = {HOSTILE: HOSTILE, "tokens": 1}
    told = dict(detail=HOSTILE, stderr=HOSTILE * 3, stage=HOSTILE)
    return [
        one(f"example_hostile {HOSTILE}", case, OLD, "unknown", **told),
        one(
            f"example_hostile {HOSTILE}",
            case,
            f"{NEW} {HOSTILE}",
            "unknown",
            detail=HUGE,
            stderr=HUGE,
            gpu=TAGS,  # as bad as a stored name of a GPU can be
        ),
        one(f"example_hostile {HOSTILE}", case, NEW, time=timed(12.0, 1.0, 7)),
    ]


def _provenance(trial: Trial) -> dict[str, Any]:
    version = "1.0.0" if trial.environment == OLD else "2.0.0"
    environment = {
        "name": trial.environment, "hash": version.replace(".", "a") * 6, "python": "3.12.3",
        "packages": {"example-kernels": version, "example-helper": "0.3"},
        "inherited": {"example-torch": "9.0"},
    }  # fmt: skip
    gpu = {"name": trial.gpu, "sm": "9.0", "uuid_hash": "0" * 12, "driver": "999.1", "memory_gib": 1}
    return {"environment": environment, "gpu": gpu, "workbench": "0.1.0", "started": "2026-01-02T03:04:05Z"}


def _found(environment: str) -> dict[str, str]:
    signature = SIGNATURES.get(environment, HOSTILE)
    return {"api": "example.quantize", "module": "example.quantization", "signature": signature}


def every_outcome() -> set[Outcome]:
    return {OUTCOME_OF_REASON[reason] for reason in ("ok", *BAD)}
