"""Made-up forensic results: a latent fault that reruns narrow, a sanitizer's findings, a GPU put out of use."""

from typing import Any

import example_results as examples

from workbench.results import Result, Results

KERNEL, CASE = "example_matmul", {"tokens": 16, "hidden": 2880}
SCALE, WEIGHT = "asked.w.scale.data", "asked.w.storage.data"
FAULT = "CUDA error at 0x7f00deadbeef: an illegal memory access was encountered"
RAN_INTO = dict(stage="first_call", detail=FAULT)


def results() -> Results:
    """All in one environment, but for the clean ones in the other."""
    return Results((*_planned(), *_fenced(), *_narrowed(), *_sanitized(), *_located(), *_quarantined()))


def fence(edge: str = "end", only: str = "", **facts: Any) -> dict[str, Any]:
    tensors = [dict(name=SCALE, bytes=259200, gap_bytes=0), dict(name=WEIGHT, bytes=8294400, gap_bytes=12)]
    told: dict[str, Any] = dict(edge=edge, alignment=16, tensors=tensors, not_fenced=[]) | facts
    return {"fence": told | ({"only": [only]} if only else {})}


def finding(**facts: Any) -> dict[str, Any]:
    told = dict(kind="out_of_bounds", access="read", bytes=16, kernel="_matmul_example", count=96)
    return told | dict(distance_bytes=1, side="after", of_bytes=259200, tensor=SCALE) | facts


def one(environment: str, mode: str, reason: str = "ok", **facts: Any) -> Result:
    return examples.one(KERNEL, CASE, environment, reason, mode=mode, **({"stage": "done"} | facts))


def _planned() -> list[Result]:
    return [one(name, mode) for name in (examples.OLD, examples.NEW) for mode in ("eager", "graph")]


def _fenced() -> list[Result]:
    left_out = [dict(name="out", why="the library allocates it")]
    fault = dict(
        kernel="_matmul_example", by="core dump", error=FAULT, package="example-kernels", version="1.0.0"
    )
    told = fence(not_fenced=left_out) | dict(fault=fault)
    return [
        one(examples.OLD, "fenced", "illegal_memory_access", **RAN_INTO, forensic=told),
        one(examples.NEW, "fenced", forensic=fence()),
        one(examples.OLD, "fenced_start", forensic=fence("start")),
    ]


def _narrowed() -> list[Result]:
    again = dict(rerun="narrowed")
    crashes = [
        one(
            examples.OLD,
            "fenced",
            "illegal_memory_access",
            attempt=number,
            forensic=fence(only=SCALE),
            **RAN_INTO,
            **again,
        )
        for number in (2, 4)
    ]
    return [*crashes, one(examples.OLD, "fenced", attempt=3, forensic=fence(only=WEIGHT), **again)]


def _sanitized() -> list[Result]:
    told = dict(sanitizer=dict(tool="memcheck", findings=[finding()]))
    clean = dict(sanitizer=dict(tool="memcheck", findings=[]))
    return [
        one(examples.OLD, "sanitized", "illegal_memory_access", **RAN_INTO, forensic=told),
        one(examples.NEW, "sanitized", forensic=clean),
    ]


def _located() -> list[Result]:
    case = {"batch": 1, "length": 1024}
    told = dict(fault=dict(kernel="example_decode_kernel", by="core dump", error=FAULT))
    crash = dict(**RAN_INTO, mode="eager")
    return [
        examples.one("example_attention", case, examples.OLD, "illegal_memory_access", **crash),
        examples.one(
            "example_attention", case, examples.OLD, "illegal_memory_access", **crash, rerun="located",
            attempt=2, forensic=told,
        ),
    ]  # fmt: skip


def _quarantined() -> list[Result]:
    why = "the GPU is not used any more: the canary hung for 120 s (canary after: an illegal memory access)"
    case = {"batch": 2, "length": 1024}
    return [examples.one("example_attention", case, examples.OLD, "not_run", detail=why, attempt=0)]
