"""The CuTe DSL expert layers, and the masked product, against stand-ins that unpack by themselves."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

import expert_stand_ins as library  # noqa: E402

from workbench.kernels import cutedsl_masked_moe, cutedsl_moe, cutedsl_moe_bf16  # noqa: E402

SHAPE = dict(tokens=9, experts=4, hidden=256, intermediate=128, top_k=2, routing="uniform")
SHARE = dict(ep_size=2, ep_rank=1)
OF_WRAPPER = (
    "num_experts, top_k, hidden_size, intermediate_size, use_cuda_graph=False, max_num_tokens=4096, "
    "num_local_experts=None, local_expert_offset=0, tile_size=128, sf_vec_size=16, output_dtype=None, "
    "device='cuda', enable_pdl=True"
)
OF_RUN = (
    "x, x_sf, token_selected_experts, token_final_scales, w1_weight, w1_weight_sf, w1_alpha, "
    "fc2_input_scale, w2_weight, w2_weight_sf, w2_alpha"
)
OF_FUNCTION = OF_RUN + (
    ", num_experts, top_k, num_local_experts=None, local_expert_offset=0, output_dtype=None, "
    "use_fused_finalize=True, moe_output=None, aux_stream=None, enable_pdl=True"
)
OF_BF16 = (
    "num_experts, top_k, hidden_size, intermediate_size, num_local_experts=None, local_expert_offset=0, "
    "tile_size=None, output_dtype=None, enable_pdl=True, use_fused_finalize=True, gemm1_tile_n=None, "
    "gemm2_tile_n=None"
)
OF_BF16_RUN = (
    "x, token_selected_experts, token_final_scales, w1_weight, w2_weight, tactic=None, moe_output=None, "
    "intermediate_buffer=None"
)
OF_GEMM = (
    "lhs, rhs, out, masked_m, *, ab_dtype, sf_dtype, c_dtype, sf_vec_size, dst_signals=None, sm_count=None, "
    "alpha=None, alpha_dtype=None"
)


def in_turns(rows, block):
    """Row of the interleaved matrix -> row of the one with up first: `block` of up, `block` of gate, and so on."""
    place = torch.arange(rows)
    pair, within = place // (2 * block), place % (2 * block)
    return torch.where(within < block, pair * block + within, rows // 2 + pair * block + within - block)


def mma_scales(tiles, rows, columns):
    """[rows, columns] of one group, from [32, 4, rows/128, 4, columns/4]."""
    m, k = torch.arange(rows).unsqueeze(1), torch.arange(columns)
    return library.e4m3(tiles[m % 32, m % 128 // 32, m // 128, k % 4, k // 4])


def nvfp4(asked, offset, block=64):
    def of(number):
        codes, scales = asked[f"w{number}_weight"], asked[f"w{number}_weight_sf"]
        rows, columns = codes.shape[1], codes.shape[2] * 2
        to = in_turns(rows, block) if number == 1 else torch.arange(rows)

        def of_expert(expert):
            found = mma_scales(scales[..., expert].view(torch.uint8), rows, columns // 16)
            whole = torch.empty(rows, columns)
            whole[to] = library.scaled(library.codes(codes[expert]), found, 16)
            return whole * asked[f"w{number}_alpha"][expert]

        return library.weights(len(codes), of_expert)

    x, scale = asked["x"], asked["fc2_input_scale"]
    assert scale.shape == (1,) and asked["x_sf"].shape == (len(x), x.shape[1] // 8, 1)
    rows = library.scaled(library.codes(x), library.e4m3(asked["x_sf"].squeeze(-1)), 16)
    out = torch.empty((len(x), asked["w2_weight"].shape[1]), dtype=torch.bfloat16)
    middle = lambda products, expert: library.to_nvfp4(library.silu(products), scale) * scale  # noqa: E731
    where = (asked["token_selected_experts"], asked["token_final_scales"], out)
    library.layer(rows, *where, offset, of(1), of(2), middle)
    return out


@pytest.fixture(autouse=True)
def version(monkeypatch):
    """A version whose fp4_quantize takes one global scale, or one for each row, as from 0.6.11 on."""

    def fp4_quantize(input, global_scale, sf_vec_size, sf_use_ue8m0, is_sf_swizzled_layout):
        assert (sf_vec_size, sf_use_ue8m0, is_sf_swizzled_layout) == (16, False, False)
        if global_scale.numel() not in (1, len(input)):
            raise RuntimeError("globalScale should have shape [1] or [num_tokens]")
        codes, scales = cutedsl_moe._nvfp4.quantized(input.float(), global_scale[0])
        return cutedsl_moe._nvfp4_experts._fp4.pack(codes), scales.to(torch.float8_e4m3fn).view(torch.uint8)

    def convert_sf_to_mma_layout(sf, m, k, num_groups=1, sf_vec_size=16):
        return sf.view(num_groups, m // 128, k // 64, 32, 4, 4).permute(3, 4, 1, 5, 2, 0)

    top, moe, utils = (ModuleType("flashinfer" + name) for name in ("", ".fused_moe", ".cute_dsl.utils"))
    top.fp4_quantize, utils.convert_sf_to_mma_layout = fp4_quantize, convert_sf_to_mma_layout
    offset = lambda asked: asked["local_expert_offset"]  # noqa: E731
    moe.cute_dsl_fused_moe_nvfp4 = library.stating(OF_FUNCTION, lambda **asked: nvfp4(asked, offset(asked)))
    top.scaled_fp4_grouped_quantize, top.silu_and_mul_scaled_nvfp4_experts_quantize = grouped, silu_grouped
    for module in (top, moe, utils, ModuleType("flashinfer.cute_dsl")):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def wrapper(**made):
    assert made["use_cuda_graph"] and made["max_num_tokens"] >= 1
    run = library.stating(OF_RUN + ", tactic=None", lambda **asked: nvfp4(asked, made["local_expert_offset"]))
    return SimpleNamespace(run=run)


def bf16_wrapper(**made):
    def run(**asked):
        def of_first(expert):
            whole = torch.empty(asked["w1_weight"].shape[1:])
            whole[in_turns(len(whole), 32)] = asked["w1_weight"][expert].float()
            return whole

        count = len(asked["w2_weight"])
        assert count == made["num_local_experts"]
        first = library.weights(count, of_first)
        second = library.weights(count, lambda e: asked["w2_weight"][e].float())
        middle = lambda products, expert: library.silu(products).bfloat16().float()  # noqa: E731
        where = (asked["token_selected_experts"], asked["token_final_scales"], asked["moe_output"])
        library.layer(asked["x"].float(), *where, made["local_expert_offset"], first, second, middle)

    return SimpleNamespace(run=library.stating(OF_BF16_RUN, run))


CASES = {
    "wrapper": (cutedsl_moe, SHAPE),
    "wrapper, a share": (cutedsl_moe, dict(SHAPE, **SHARE)),
    "function": (cutedsl_moe, dict(SHAPE, entry="function")),
    "function, a share": (cutedsl_moe, dict(SHAPE, entry="function", **SHARE)),
    "the first global scale": (cutedsl_moe, dict(SHAPE, input_global_scale="first")),
    "bf16": (cutedsl_moe_bf16, SHAPE),
    "bf16, a share": (cutedsl_moe_bf16, dict(SHAPE, finalize="deterministic", **SHARE)),
}


@pytest.fixture(params=CASES)
def case(request):
    kernel, case = CASES[request.param]
    return kernel, kernel.inputs(**case)


def answer(kernel, inputs, **changes):
    handed = {**{name: value for name, value in inputs.items() if name != "converted"}, **changes}
    parameters, body = (OF_BF16, bf16_wrapper) if kernel is cutedsl_moe_bf16 else (OF_WRAPPER, wrapper)
    return {"out": kernel.prepare(library.stating(parameters, body), handed)()}


def test_what_is_handed_over_gives_the_answer(case, right):
    kernel, inputs = case
    assert right(kernel, answer(kernel, inputs), inputs)


def swapped_gate_and_up(inputs):
    names = [name for name in ("first", "first_scales") if name in inputs]
    return {name: torch.cat(inputs[name].chunk(2, dim=1)[::-1], dim=1) for name in names}


def another_experts_weights(inputs):
    return dict(second=inputs["second"].roll(1, dims=0))


def rows_off_by_one(inputs):
    return {name: inputs[name].roll(1, dims=0) for name in ("x", "packed") if name in inputs}


def experts_off_by_one(inputs):
    return dict(chosen=(inputs["chosen"] + 1) % 4)


@pytest.mark.parametrize(
    "mutation", [swapped_gate_and_up, another_experts_weights, rows_off_by_one, experts_off_by_one]
)
def test_a_wrong_answer_is_wrong(case, right, mutation):
    kernel, inputs = case
    assert not right(kernel, answer(kernel, inputs, **mutation(inputs)), inputs)


@pytest.mark.parametrize("kernel", [cutedsl_moe, cutedsl_moe_bf16])
def test_other_turns_are_wrong(right, monkeypatch, kernel):
    inputs = kernel.inputs(**SHAPE)
    monkeypatch.setattr(kernel, "TURNS", 16)
    assert not right(kernel, answer(kernel, inputs), inputs)


@pytest.mark.parametrize("name", ["scales", "second_scales", "first_global", "x_global"])
def test_scales_that_are_off_are_wrong(right, name):
    inputs = cutedsl_moe.inputs(**SHAPE)
    changed = inputs[name].roll(1, dims=-1) if inputs[name].dim() > 1 else inputs[name] * 1.3
    assert not right(cutedsl_moe, answer(cutedsl_moe, inputs, **{name: changed}), inputs)


def test_a_global_scale_for_each_expert_is_handed_over_whole():
    inputs = cutedsl_moe.inputs(**SHAPE, input_global_scale="whole")
    with pytest.raises(RuntimeError, match="num_tokens"):
        answer(cutedsl_moe, inputs)


def test_a_part_is_the_first_rows(case):
    kernel, whole = case
    part = kernel.part(whole, 5)
    assert all(part[name].data_ptr() == whole[name].data_ptr() for name in kernel.VARIES)
    assert torch.allclose(kernel.reference(part)["out"], kernel.reference(whole)["out"][:5], atol=1e-4)


# The masked product.

MASKED = dict(places=8, experts=3, hidden=256, intermediate=128, fill="ragged")


def quantize(values, masked, global_scales):
    """What two calls of the library give, rows beyond the mask left as they happen to be; not packed."""
    assert len(global_scales) == len(masked), "the library wants a scale for each expert"
    table = torch.full(values.shape, 1e3)
    for expert, count in enumerate(masked.tolist()):
        scale = global_scales[expert]
        table[expert, :count] = library.to_nvfp4(values[expert, :count].float(), scale) * scale
    return table, "scales"


def grouped(a, mask, a_global_sf):
    return quantize(a, mask, a_global_sf)


def silu_grouped(a, mask, a_global_sf):
    gate, up = a.float().chunk(2, dim=-1)
    return quantize((up * gate / (1 + torch.exp(-gate))).bfloat16(), mask, a_global_sf)


def product(lhs, rhs, out, masked_m, alpha, **formats):
    assert formats["sf_vec_size"] == 16 and formats["alpha_dtype"] == "float32"
    codes, scales = rhs
    rows, columns = codes.shape[0], codes.shape[1] * 2
    assert scales.dtype == torch.float8_e4m3fn and out.stride(1) == 1
    for expert, count in enumerate(masked_m.tolist()):
        found = mma_scales(scales[..., expert].view(torch.uint8), rows, columns // 16)
        weight = library.scaled(library.codes(codes[..., expert]), found, 16)
        products = lhs[0][expert, :count] @ weight.T * alpha[0, 0, expert]
        out[:count, :, expert] = products.bfloat16()


def masked_answer(inputs, **changes):
    handed = {**{name: value for name, value in inputs.items() if name != "converted"}, **changes}
    call = cutedsl_masked_moe.prepare(library.stating(OF_GEMM, product), handed)
    call.outputs[0].fill_(float("nan"))
    return cutedsl_masked_moe.outputs(call(), inputs)


@pytest.mark.parametrize("flow", ["moe", "product"])
@pytest.mark.parametrize("fill", ["even", "ragged"])
def test_the_masked_calls_give_the_answer(right, flow, fill):
    inputs = cutedsl_masked_moe.inputs(**dict(MASKED, flow=flow, fill=fill))
    assert right(cutedsl_masked_moe, masked_answer(inputs), inputs)


def last_row_left_out(inputs):
    return dict(masked=(inputs["masked"] - 1).clamp(min=0))


def alphas_of_another_expert(inputs):
    return dict(first_global=inputs["first_global"].roll(1) * 1.2)


def another_experts_first_weights(inputs):
    return dict(first=inputs["first"].roll(1, dims=0))


@pytest.mark.parametrize(
    "mutation",
    [swapped_gate_and_up, another_experts_first_weights, last_row_left_out, alphas_of_another_expert],
)
@pytest.mark.parametrize("flow", ["moe", "product"])
def test_a_wrong_masked_answer_is_wrong(right, flow, mutation):
    inputs = cutedsl_masked_moe.inputs(**dict(MASKED, flow=flow))
    assert not right(cutedsl_masked_moe, masked_answer(inputs, **mutation(inputs)), inputs)


def test_a_library_that_takes_the_first_global_scale_for_all_is_wrong(right, monkeypatch):
    inputs = cutedsl_masked_moe.inputs(**MASKED)
    alike = lambda a, mask, a_global_sf: grouped(a, mask, a_global_sf[:1].expand(3))  # noqa: E731
    monkeypatch.setattr(sys.modules["flashinfer"], "scaled_fp4_grouped_quantize", alike)
    assert not right(cutedsl_masked_moe, masked_answer(inputs), inputs)


def test_the_first_global_scale_alone_is_handed_over():
    with pytest.raises(AssertionError, match="each expert"):
        masked_answer(cutedsl_masked_moe.inputs(**MASKED, input_global_scale="first"))


def test_what_a_masked_case_reaches_and_costs():
    reached = cutedsl_masked_moe.reached
    assert reached(cutedsl_masked_moe.inputs(**MASKED)) == {"last expert": False, "last place": True}
    assert reached(cutedsl_masked_moe.inputs(**dict(MASKED, fill="even")))["last expert"]
    assert cutedsl_masked_moe.filled(8, 3, "ragged") == [8, 4, 0]
    cost = cutedsl_masked_moe.cost(**MASKED)
    assert cost["flops"] == 6 * 12 * 256 * 128
    assert cost["bytes"] == 2 * (3 * 256 * 128 * 9 // 16) + 12 * 4 * 256
    with pytest.raises(ValueError, match="ragged"):
        cutedsl_masked_moe.filled(8, 3, "half")


@pytest.mark.parametrize(("kernel", "sm"), [(cutedsl_moe, "10.3"), (cutedsl_moe_bf16, "9.0")])
def test_headers_are_fetched(kernel, sm):
    assert kernel.needs_artifacts(sm=sm, **kernel.CASES[0])
