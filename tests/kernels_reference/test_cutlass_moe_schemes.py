"""cutlass_fused_moe in fp8, mxfp4, mxfp8 and nvfp4, against stand-ins that unpack its arguments by themselves."""

import sys
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

import expert_stand_ins as library  # noqa: E402
from test_cutlass_moe import PARAMETERS  # noqa: E402

from workbench.kernels import (  # noqa: E402
    _sm90_mixed,
    cutlass_moe_fp8,
    cutlass_moe_mxfp4,
    cutlass_moe_mxfp8,
    cutlass_moe_nvfp4,
)

SHAPE = dict(tokens=9, experts=4, hidden=256, intermediate=384, top_k=2, routing="uniform")
OLDER = PARAMETERS.replace(", swizzled_input_sf=True", "")  # 0.6.7


def common(asked):
    count, hidden = asked["fc2_expert_weights"].shape[:2]
    assert asked["token_selected_experts"].dtype == torch.int32
    assert asked["output"].shape == (len(asked["input"]), hidden)
    assert asked["output_dtype"] == asked["output"].dtype == torch.bfloat16
    where = (asked["token_selected_experts"], asked["token_final_scales"], asked["output"])
    return count, where, asked["ep_rank"] * count


def fp8(**asked):
    count, where, offset = common(asked)
    assert asked["input"].dtype == asked["fc1_expert_weights"].dtype == torch.float8_e4m3fn
    back, to_middle, back_again, of_x = asked["quant_scales"]
    assert (back.shape, to_middle.dim(), back_again.shape, of_x.dim()) == ((count,), 0, (count,), 0)

    def middle(products, expert):
        act = library.silu(products) * to_middle
        return act.clamp(-448, 448).to(torch.float8_e4m3fn).float()

    first = library.weights(count, lambda e: asked["fc1_expert_weights"][e].float() * back[e])
    second = library.weights(count, lambda e: asked["fc2_expert_weights"][e].float() * back_again[e])
    library.layer(asked["input"].float(), *where, offset, first, second, middle)


def fp8_block(**asked):
    count, where, offset = common(asked)
    assert asked["use_deepseek_fp8_block_scale"] and asked["input"].dtype == torch.bfloat16

    def rows(values):
        grouped = values.unflatten(-1, (-1, 128))
        scale = grouped.abs().amax(-1, keepdim=True) / 448
        return ((grouped / scale).to(torch.float8_e4m3fn).float() * scale).flatten(-2)

    def of(name, scales):
        def weight(expert):
            whole = asked[name][expert].float()
            for row in range(0, whole.shape[0], 128):
                for column in range(0, whole.shape[1], 128):
                    whole[row : row + 128, column : column + 128] *= scales[expert, row // 128, column // 128]
            return whole

        return library.weights(count, weight)

    first, second = (of(f"fc{n}_expert_weights", asked["quant_scales"][n - 1]) for n in (1, 2))
    middle = lambda products, expert: rows(library.silu(products).bfloat16().float())  # noqa: E731
    library.layer(rows(asked["input"].float()), *where, offset, first, second, middle)


def limited(asked, rounded):
    names = ("swiglu_alpha", "swiglu_beta", "swiglu_limit")

    def middle(products, expert):
        assert all(asked[name].dtype == torch.float32 for name in names)
        return rounded(library.gpt_oss(*(asked[name][expert] for name in names))(products))

    return middle


def biases(asked):
    found = asked["fc1_expert_biases"], asked["fc2_expert_biases"]
    assert all(each.dtype == torch.bfloat16 for each in found)
    return found


def mxfp4(**asked):
    """Raw codes and, for each 128 columns, four scales of a row side by side: what versions without helpers read."""
    count, where, offset = common(asked)
    assert asked["use_w4_group_scaling"] and asked["input"].dtype == torch.bfloat16

    def of(name, scales):
        packed, flat = asked[name], scales.contiguous().view(torch.uint8).reshape(count, -1)
        rows, groups = packed.shape[1], packed.shape[2] // 16
        assert packed.shape[1] % 128 == 0 and scales.dtype == torch.int32
        r, g = torch.arange(rows).unsqueeze(1), torch.arange(groups)
        address = (g // 4) * rows * 4 + r * 4 + g % 4
        of_expert = lambda e: library.scaled(  # noqa: E731
            library.codes(packed[e]), library.power_of_two(flat[e][address]), 32
        )
        return library.weights(count, of_expert)

    first, second = (of(f"fc{n}_expert_weights", asked["quant_scales"][n - 1]) for n in (1, 2))
    middle = limited(asked, lambda act: act.bfloat16().float())
    library.layer(asked["input"].float(), *where, offset, first, second, middle, biases(asked))


def tiled(asked, name, scales, read, group):
    weights = asked[name]
    assert weights.dtype == torch.int64 and scales.dtype == torch.int32
    rows, columns = weights.shape[1], weights.shape[2] * 16

    def of_expert(expert):
        found = read(library.from_tiles(scales[expert], rows, columns // group))
        return library.scaled(library.codes(weights[expert]), found, group)

    return library.weights(len(weights), of_expert)


def nvfp4(**asked):
    _, where, offset = common(asked)
    to_x, first_scales, back, to_middle, second_scales, back_again = asked["quant_scales"]
    first = tiled(asked, "fc1_expert_weights", first_scales, library.e4m3, 16)
    second = tiled(asked, "fc2_expert_weights", second_scales, library.e4m3, 16)
    tokens, columns = len(asked["input"]), asked["input"].shape[1] * 2
    stored = asked["input_sf"]
    if asked.get("swizzled_input_sf", True):
        stored = library.from_tiles(stored, tokens, columns // 16)
    x = library.scaled(library.codes(asked["input"]), library.e4m3(stored), 16)
    assert float(to_x) > 0
    middle = lambda products, e: library.to_nvfp4(library.silu(products), to_middle) * to_middle  # noqa: E731
    whole = library.weights(first.count, lambda e: first(e) * back[e])
    again = library.weights(first.count, lambda e: second(e) * back_again[e])
    library.layer(x, *where, offset, whole, again, middle)


def mxfp8(**asked):
    _, where, offset = common(asked)
    first_scales, ones, second_scales, _ = asked["quant_scales"]
    assert asked["use_mxfp8_act_scaling"] and asked["input"].dtype == torch.float8_e4m3fn
    assert bool((ones == 1).all())
    first = tiled(asked, "fc1_expert_weights", first_scales, library.power_of_two, 32)
    second = tiled(asked, "fc2_expert_weights", second_scales, library.power_of_two, 32)
    tokens, columns = asked["input"].shape
    stored = library.power_of_two(library.from_tiles(asked["input_sf"], tokens, columns // 32))
    x = library.scaled(asked["input"].float(), stored, 32)
    middle = limited(asked, library.to_mxfp8)
    library.layer(x, *where, offset, first, second, middle, biases(asked))


SCHEMES = {
    "fp8": (cutlass_moe_fp8, fp8, dict(SHAPE, scheme="tensor")),
    "fp8, a share": (cutlass_moe_fp8, fp8, dict(SHAPE, scheme="tensor", ep_size=2, ep_rank=1)),
    "fp8 block": (cutlass_moe_fp8, fp8_block, dict(SHAPE, scheme="block")),
    "fp8 block, a share": (cutlass_moe_fp8, fp8_block, dict(SHAPE, scheme="block", ep_size=2, ep_rank=1)),
    "mxfp4": (cutlass_moe_mxfp4, mxfp4, SHAPE),
    "mxfp4, padded": (cutlass_moe_mxfp4, mxfp4, dict(SHAPE, hidden=160, intermediate=96)),
    "mxfp4, a share": (cutlass_moe_mxfp4, mxfp4, dict(SHAPE, ep_size=2, ep_rank=0)),
    "nvfp4": (cutlass_moe_nvfp4, nvfp4, SHAPE),
    "nvfp4, linear": (cutlass_moe_nvfp4, nvfp4, dict(SHAPE, scales="linear")),
    "nvfp4, a share": (cutlass_moe_nvfp4, nvfp4, dict(SHAPE, ep_size=2, ep_rank=1)),
    "mxfp8": (cutlass_moe_mxfp8, mxfp8, SHAPE),
    "mxfp8, padded": (cutlass_moe_mxfp8, mxfp8, dict(SHAPE, hidden=160, intermediate=96)),
    "mxfp8, a share": (cutlass_moe_mxfp8, mxfp8, dict(SHAPE, ep_size=2, ep_rank=1)),
}


@pytest.fixture(autouse=True)
def no_helpers(monkeypatch):
    """As the versions up to 0.6.9: nothing brings weights into an order."""
    monkeypatch.setitem(sys.modules, "flashinfer", ModuleType("flashinfer"))
    monkeypatch.setitem(sys.modules, "flashinfer.fused_moe", ModuleType("flashinfer.fused_moe"))


@pytest.fixture(params=SCHEMES)
def scheme(request):
    kernel, body, case = SCHEMES[request.param]
    return kernel, library.stating(PARAMETERS, body), kernel.inputs(**case)


def test_what_is_handed_over_gives_the_answer(scheme, right):
    kernel, function, inputs = scheme
    call = kernel.prepare(function, inputs)
    answer = call()
    assert answer is call.outputs[0]
    assert right(kernel, {"out": answer}, inputs)


def changed(inputs, **names):
    return {**{name: value for name, value in inputs.items() if name != "converted"}, **names}


def answer(scheme, inputs):
    kernel, function, _ = scheme
    return {"out": kernel.prepare(function, inputs)()}


def swapped_gate_and_up(inputs):
    names = [name for name in ("first", "first_scales", "first_bias") if inputs.get(name) is not None]
    names = [name for name in names if inputs[name].dim() > 1]
    return {name: torch.cat(inputs[name].chunk(2, dim=1)[::-1], dim=1) for name in names}


def another_experts_weights(inputs):
    return dict(second=inputs["second"].roll(1, dims=0))


def another_experts_scales(inputs):
    return dict(second_scales=inputs["second_scales"].roll(1, dims=0))


def experts_off_by_one(inputs):
    return dict(chosen=(inputs["chosen"] + 1) % 4)


def gates_of_another_choice(inputs):
    return dict(gates=inputs["gates"].roll(1, dims=-1))


def rows_off_by_one(inputs):
    return dict(x=inputs["x"].roll(1, dims=0))


EVERYWHERE = [
    swapped_gate_and_up,
    another_experts_weights,
    another_experts_scales,
    experts_off_by_one,
    gates_of_another_choice,
    rows_off_by_one,
]


@pytest.mark.parametrize("mutation", EVERYWHERE)
def test_a_wrong_answer_is_wrong(scheme, right, mutation):
    kernel, _, inputs = scheme
    got = answer(scheme, changed(inputs, **mutation(inputs)))
    assert not right(kernel, got, inputs)


def test_a_row_that_was_not_written_is_wrong(scheme, right, broken_rows):
    kernel, _, inputs = scheme
    good = answer(scheme, inputs)["out"]
    busiest = int(good.float().norm(dim=-1).argmax())
    for broken in broken_rows(good, row=busiest):
        assert not right(kernel, {"out": broken}, inputs)


@pytest.fixture
def of(right):
    """`of(name, **changes)`: whether a scheme is right if what is handed over is changed."""

    def judged(name, **changes):
        kernel, body, case = SCHEMES[name]
        inputs = kernel.inputs(**case)
        scheme = kernel, library.stating(PARAMETERS, body), inputs
        made = {each: change(inputs[each]) for each, change in changes.items()}
        return right(kernel, answer(scheme, changed(inputs, **made)), inputs)

    return judged


def halves(packed):
    return (packed >> 4) | (packed << 4)


def shifted(scales):
    return scales.roll(1, dims=-1)


def none(bias):
    return torch.zeros_like(bias)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("fp8", dict(x_scale=lambda scale: scale * 1.1)),
        ("fp8", dict(second_scales=lambda scales: scales * cutlass_moe_fp8.MIDDLE)),
        ("fp8 block", dict(first_scales=lambda scales: scales.transpose(1, 2).reshape(scales.shape))),
        ("mxfp4", dict(first=halves)),
        ("mxfp4", dict(second_scales=shifted)),
        ("mxfp4", dict(first_bias=none)),
        ("mxfp4", dict(second_bias=none)),
        ("nvfp4", dict(first=halves)),
        ("nvfp4", dict(x_scales=shifted)),
        ("nvfp4", dict(x_global=lambda scale: scale * 1.1)),
        ("nvfp4", dict(second_global=lambda scale: scale.roll(1) * 1.1)),
        ("mxfp8", dict(x_scales=shifted)),
        ("mxfp8", dict(second_bias=none)),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_what_a_scheme_must_not_lose(of, name, changes):
    assert not of(name, **changes)


LEFT_OUT = dict(swiglu_alpha=1.0, swiglu_beta=0.0, swiglu_limit=1e9)


@pytest.mark.parametrize("name", LEFT_OUT)
@pytest.mark.parametrize("scheme", ["mxfp4", "mxfp8"])
def test_alpha_beta_and_limit_matter(right, scheme, name):
    kernel, body, case = SCHEMES[scheme]
    inputs = kernel.inputs(**case)
    idle = torch.full((4,), LEFT_OUT[name])
    off = library.stating(PARAMETERS, lambda **asked: body(**{**asked, name: idle}))
    assert not right(kernel, {"out": kernel.prepare(off, inputs)()}, inputs)


def test_a_middle_that_was_not_scaled_back_is_wrong(right):
    for scheme in ("fp8", "nvfp4"):
        kernel, body, case = SCHEMES[scheme]
        inputs = kernel.inputs(**case)
        place = dict(fp8=1, nvfp4=3)[scheme]

        def off(place=place, body=body, **asked):
            scales = list(asked["quant_scales"])
            scales[place] = scales[place] * 1.2
            return body(**{**asked, "quant_scales": scales})

        function = library.stating(PARAMETERS, off)
        assert not right(kernel, {"out": kernel.prepare(function, inputs)()}, inputs)


def test_helpers_of_the_version_are_asked(monkeypatch):
    asked = {}

    def weights(weight, quant_type="fp4"):
        asked["weights"] = weight, quant_type
        return weight + 1

    def scales(scales, group_size=32):
        asked["scales"] = scales, group_size
        return scales + 1

    owner = sys.modules["flashinfer.fused_moe"]
    monkeypatch.setattr(owner, "interleave_moe_weights_for_sm90_mixed_gemm", weights, raising=False)
    monkeypatch.setattr(owner, "interleave_moe_scales_for_sm90_mixed_gemm", scales, raising=False)
    inputs = cutlass_moe_mxfp4.inputs(**SHAPE)
    function = library.stating(PARAMETERS, lambda **asked: None)
    cutlass_moe_mxfp4.prepare(function, inputs)()
    assert asked["weights"][1] == "fp4" and asked["scales"][1] == 32
    assert torch.equal(function.got["fc2_expert_weights"], inputs["second"] + 1)
    assert torch.equal(function.got["quant_scales"][1].view(torch.uint8), inputs["second_scales"] + 1)
    inputs = cutlass_moe_mxfp4.inputs(**SHAPE, preparation="callers")
    cutlass_moe_mxfp4.prepare(function, inputs)()
    assert function.got["fc2_expert_weights"] is inputs["second"]


def folded(scales):
    """The order of 0.6.16 and of 0.6.18 and later: blocks of 64 rows and 128 columns, four rows side by side."""
    experts, rows, groups = scales.shape
    blocks = scales.reshape(experts, rows // 64, 4, 16, groups // 4, 4)
    return blocks.permute(0, 1, 4, 3, 2, 5).reshape(experts, rows // 64, groups // 4, 16, 16)


def test_scales_in_the_order_of_another_version_are_wrong(right, monkeypatch):
    inputs = cutlass_moe_mxfp4.inputs(**SHAPE)
    function = library.stating(PARAMETERS, mxfp4)
    monkeypatch.setattr(_sm90_mixed, "by_callers", folded)
    assert not right(cutlass_moe_mxfp4, {"out": cutlass_moe_mxfp4.prepare(function, inputs)()}, inputs)


def test_padding_adds_nothing():
    inputs = cutlass_moe_mxfp4.inputs(**dict(SHAPE, hidden=160, intermediate=96))
    assert inputs["x"].shape == (9, 256) and inputs["first"].shape == (4, 256, 128)
    assert not cutlass_moe_mxfp4.reference(inputs)["out"][:, 160:].any()


def test_linear_scales_need_a_version_that_takes_them():
    inputs = cutlass_moe_nvfp4.inputs(**SHAPE, scales="linear")
    with pytest.raises(NotImplementedError, match="linear"):
        cutlass_moe_nvfp4.prepare(library.stating(OLDER, nvfp4), inputs)
    cutlass_moe_nvfp4.prepare(library.stating(OLDER, nvfp4), cutlass_moe_nvfp4.inputs(**SHAPE))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_part_is_the_first_rows(name):
    kernel, _, case = SCHEMES[name]
    whole = kernel.inputs(**case)
    part = kernel.part(whole, 5)
    assert all(part[each].data_ptr() == whole[each].data_ptr() for each in kernel.VARIES)
    assert torch.allclose(kernel.reference(part)["out"], kernel.reference(whole)["out"][:5], atol=1e-4)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_seed_changes_values_and_leaves_shapes_and_routing(name):
    kernel, _, case = SCHEMES[name]
    one, same, other = (kernel.inputs(seed=seed, **case) for seed in (0, 0, 1))
    tensors = [each for each, value in one.items() if isinstance(value, torch.Tensor)]
    assert all(
        torch.equal(one[each], same[each]) and one[each].shape == other[each].shape for each in tensors
    )
    assert torch.equal(one["chosen"], other["chosen"])
    assert not any(torch.equal(one[each], other[each]) for each in kernel.VARIES)
    assert not torch.equal(one["first"][0], one["first"][1])
