"""A whole expert layer in one call, bfloat16: two expert matrix products, swiglu between, summed by gate.

x [tokens, hidden]; first weights [experts, 2 * intermediate, hidden], of whose rows the first half is
the linear part (up) and the second the gate; second weights [experts, hidden, intermediate]; experts of
each token int32 and gates float32, both [tokens, top_k]. Answer [tokens, hidden]: sum of gates times
down(silu(gate) * up).
Without tuning the library takes its default tactic, which may be several times slower; the mode says
which ran. The case key `tactics` (two numbers, one for each product) sets them, to compare versions at
equal ones.

TOLERANCE: the middle is rounded to bfloat16 and so may be each partial sum, about 5e-3 a row. Missed:
one element of a row that is off by less than its usual size. No gate is under a sixteenth, so an expert
that was left out is seen.
Source: flashinfer/fused_moe/core.py.
"""

from typing import Any

from . import _draw, _routing, _shapes

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
    dict(tokens=tokens, **shape, routing=routing)
    for shape in (_GPT_OSS, _shapes.NARROW)
    for tokens, routing in _LADDER
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
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    import torch

    source = _draw.generator(seed)
    x = _draw.normal(source, tokens, hidden, dtype="bfloat16")
    first = dict(std=2 * hidden**-0.5, dtype="bfloat16")
    second = dict(std=intermediate**-0.5, dtype="bfloat16")
    gates = 0.5 + torch.rand((tokens, top_k), generator=source, device=x.device)
    return dict(
        x=x,
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=gates / gates.sum(dim=-1, keepdim=True),
        first=_draw.by_expert(experts, lambda: _draw.normal(source, 2 * intermediate, hidden, **first)),
        second=_draw.by_expert(experts, lambda: _draw.normal(source, hidden, intermediate, **second)),
        **({"tactics": tactics} if tactics else {}),
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    out = torch.empty_like(inputs["x"])
    asked = dict(
        input=inputs["x"],
        token_selected_experts=inputs["chosen"],
        token_final_scales=inputs["gates"],
        fc1_expert_weights=inputs["first"],
        fc2_expert_weights=inputs["second"],
        output_dtype=out.dtype,
        quant_scales=None,
        output=out,
    )

    def call() -> Any:
        function(**asked)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
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
    """The first tokens, with the same weights."""
    return {**inputs, **{name: inputs[name][:tokens] for name in ("x", "chosen", "gates")}}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    x, chosen = inputs["x"].float(), inputs["chosen"]
    position, rows = _routing.sorted_rows(chosen, len(inputs["first"]))
    source, gates = position // chosen.shape[1], inputs["gates"].flatten()[position]
    answer = x.new_zeros(x.shape)
    start = 0
    for expert, count in enumerate(rows.tolist()):
        of_expert = slice(start, start + count)
        start += count
        if count:
            part = expert_layer(x[source[of_expert]], inputs["first"][expert], inputs["second"][expert])
            # A token goes to an expert at most once, so no row is met twice here.
            answer[source[of_expert]] += gates[of_expert, None] * part
    return {"out": answer}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return {"last expert": _routing.reaches_last(inputs["chosen"], len(inputs["first"]))}


def expert_layer(x: Any, first: Any, second: Any) -> Any:
    """One expert, float32: rows [n, hidden] to [n, hidden]."""
    import torch

    up, gate = (x @ first.float().T).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up) @ second.float().T


def cost(
    *, tokens: int, experts: int, hidden: int, intermediate: int, top_k: int, routing: str, **other: Any
) -> dict[str, Any]:
    """Weights of the experts that have tokens, x and answer, expert numbers and gates, each once."""
    weights = 3 * hidden * intermediate * 2 * _routing.touched(tokens, experts, top_k, routing)
    moved = weights + 2 * tokens * hidden * 2 + tokens * top_k * 8
    return dict(bytes=moved, flops=6 * tokens * top_k * hidden * intermediate, unit="bf16")
