"""A whole expert layer in one call, bfloat16: two expert matrix products, swiglu between, summed by gate.

x [tokens, hidden]; first weights [experts, 2 * intermediate, hidden], of whose rows the first half is
the linear part (up) and the second the gate; second weights [experts, hidden, intermediate]; experts of
each token int32 and gates float32, both [tokens, top_k]. Answer [tokens, hidden]: sum of gates times
down(silu(gate) * up).
Without tuning the library takes its default tactic, which may be several times slower; the mode says
which ran. The case key `tactics` (two numbers, one for each product) sets them, to compare versions at
equal ones. `ep_size` and `ep_rank`: one rank's share of an expert-parallel layer, on one GPU; its weights are
of its experts alone, the experts of a token are numbered through all ranks, and a token that has none here
gets zeros. Other number types: the files beside this one.

TOLERANCE: the middle is rounded to bfloat16 and so may be each partial sum, about 5e-3 a row. Missed:
one element of a row that is off by less than its usual size. No gate is under a sixteenth, so an expert
that was left out is seen.
Source: flashinfer/fused_moe/core.py.
"""

from typing import Any

from . import _cutlass, _draw, _experts, _routing, _shapes

API = "flashinfer.fused_moe.cutlass_fused_moe"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("x", "gates")
SIZE = "tokens"
_GPT_OSS = dict(
    experts=_shapes.GPT_OSS_EXPERTS["20b"],
    hidden=_shapes.GPT_OSS_HIDDEN,
    intermediate=_shapes.GPT_OSS_INTERMEDIATE,
    top_k=_shapes.GPT_OSS_TOP_K,
)
_LADDER = [
    *((tokens, "uniform") for tokens in (1, 16, 128, 1024, 4096)),
    *((tokens, "skewed") for tokens in (128, 1024)),
]
CASES = [
    *(
        dict(tokens=tokens, **shape, routing=routing)
        for shape in (_GPT_OSS, _shapes.NARROW)
        for tokens, routing in _LADDER
    ),
    *(
        dict(tokens=tokens, **_shapes.NARROW, routing=routing, ep_size=8, ep_rank=rank)
        for tokens, routing, rank in ((1, "uniform", 0), (1024, "uniform", 7), (1024, "skewed", 0))
    ),
]


def inputs(
    *,
    seed: int = 0,
    tokens: int,
    experts: int,
    hidden: int,
    intermediate: int,
    top_k: int,
    routing: str,
    tactics: list[int] | None = None,
    ep_size: int = 1,
    ep_rank: int = 0,
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    x = _draw.normal(source, tokens, hidden, dtype="bfloat16")
    gates = _experts.gates(source, tokens, top_k)
    first = dict(std=2 * hidden**-0.5, dtype="bfloat16")
    second = dict(std=intermediate**-0.5, dtype="bfloat16")
    return dict(
        x=x,
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=gates,
        first=_draw.by_expert(here, lambda: _draw.normal(source, 2 * intermediate, hidden, **first)),
        second=_draw.by_expert(here, lambda: _draw.normal(source, hidden, intermediate, **second)),
        **({"tactics": tactics} if tactics else {}),
        **({"ep": [ep_size, ep_rank]} if ep_size > 1 else {}),
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    first, second = inputs["first"], inputs["second"]
    asked = dict(fc1_expert_weights=first, fc2_expert_weights=second, quant_scales=None)
    call = _cutlass.call(function, inputs, second.shape[1], **asked)
    return _at(inputs["tactics"], call) if inputs.get("tactics") else call


def _at(tactics: list[int], call: Any) -> Any:
    """The call with the tactics of its two products set, whatever the autotuner would answer."""
    from flashinfer.autotuner import AutoTuner

    def choose_one(self: Any, custom_op: str, runners: Any, *given: Any, **more: Any) -> Any:
        return runners[0], tactics[more["gemm_idx"] - 1]

    def at_these() -> Any:
        original, AutoTuner.choose_one = AutoTuner.choose_one, choose_one
        try:
            return call()
        finally:
            AutoTuner.choose_one = original

    at_these.outputs = call.outputs  # type: ignore[attr-defined]
    return at_these


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return _experts.part(inputs, tokens, ("x", "chosen", "gates"))


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    def layer(expert: int, rows: Any) -> Any:
        middle = _experts.swiglu(rows @ inputs["first"][expert].float().T)
        return middle @ inputs["second"][expert].float().T

    return _cutlass.answer(inputs, inputs["x"].float(), layer)


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _cutlass.reached(inputs)


def cost(
    *, tokens, experts, hidden, intermediate, top_k, routing, tactics=None, ep_size=1, ep_rank=0
) -> dict[str, Any]:
    return _experts.cost(
        _routing.choose(tokens, experts, top_k, routing),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=3 * hidden * intermediate * 2,
        row_bytes=2 * hidden,
        unit="bf16",
    )
