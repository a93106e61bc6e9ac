"""What cuobjdump says of compiled kernels, read from real texts.

fp4_quantization_90: FlashInfer 0.6.11.post1's module by nvcc 13.0 for sm_90a, three kernels of it; its first is one of
those that have no body there. expt_data_compute_120: a kernel of triton_kernels, by Triton 3.6.0 for sm_120a.
"""

from pathlib import Path

import pytest

from workbench.compiled import does_nothing, judge, plain_name
from workbench.worker import cubins

TEXTS = Path(__file__).parent / "cubins"


def kernels(name: str) -> list[dict[str, object]]:
    usage, code = ((TEXTS / f"{name}.{kind}.txt").read_text() for kind in ("usage", "sass"))
    return cubins.kernels(usage, code)


def test_a_body_of_two_instructions_does_nothing() -> None:
    empty, whole, cub = kernels("fp4_quantization_90")
    assert (empty["instructions"], empty["does_nothing"]) == (2, True)
    assert (empty["registers"], empty["shared_bytes"], empty["spill_bytes"]) == (4, 1024, 0)
    assert (whole["instructions"], whole["does_nothing"], whole["registers"]) == (87, False, 19)
    assert cub["does_nothing"]


def test_a_store_behind_a_predicate_counts() -> None:
    (kernel,) = kernels("expt_data_compute_120")
    assert (kernel["name"], kernel["registers"], kernel["instructions"]) == ("_expt_data_compute", 16, 62)
    assert kernel["does_nothing"] is False


@pytest.mark.parametrize(
    ("code", "nothing"),
    [
        ("/*0000*/ LDC R1, c[0x0][0x28] ;\n/*0010*/ EXIT ;\n/*0020*/ BRA 0x20;\n/*0030*/ NOP;", True),
        ("/*0000*/ STS [R1], R2 ;\n/*0010*/ STL [R1], R2 ;\n/*0020*/ EXIT ;", True),  # nobody else sees these
        ("/*0000*/ @!P0 STG.E desc[UR4][R2.64], R5 ;\n/*0010*/ EXIT ;", False),
        ("/*0000*/ @UP0 UTMASTG.3D [UR8], [UR4] ;\n/*0010*/ EXIT ;", False),
        ("/*0000*/ CALL.ABS.NOINC 0x0 ;\n/*0010*/ EXIT ;", False),
        ("/*0000*/ REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R5 ;\n/*0010*/ EXIT ;", False),
    ],
)
def test_what_counts_as_doing_something(code: str, nothing: bool) -> None:
    assert cubins.body(code)["does_nothing"] is nothing


def test_a_tool_that_is_not_there_or_refuses_says_so(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such-tool"):
        cubins.read(str(tmp_path), "/no-such-tool")
    with pytest.raises(RuntimeError, match="cuobjdump: "):
        cubins.read(str(tmp_path), "false")


def test_names_without_the_arguments_of_templates() -> None:
    names = [plain_name(str(each["name"])) for each in kernels("fp4_quantization_90")]
    assert names[:2] == [
        "tensorrt_llm::kernels::quantize_with_block_size",
        "tensorrt_llm::kernels::block_scale_interleave_reverse_kernel",
    ]
    assert names[2].endswith("::EmptyKernel")
    assert plain_name("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1_swiglu").startswith("_matmul_ogs")
    assert plain_name("_Znonsense") == "_Znonsense"


def test_a_function_counts_where_no_instance_does_anything() -> None:
    found = kernels("fp4_quantization_90")
    assert does_nothing(found) == ["tensorrt_llm::kernels::quantize_with_block_size"]  # and not CUB's
    once = {**found[0], "does_nothing": False}
    assert does_nothing([*found, once]) == []
    reason, detail = judge({"kernels": found})
    assert reason == "does_nothing" and "quantize_with_block_size" in detail


def test_what_fits_and_spills_is_said() -> None:
    made = dict(name="k", shared_bytes=83292, registers=168, spill_bytes=2008, does_nothing=False)
    assert judge({"kernels": [made]}) == (
        "ok",
        "compiled, not run: 1 kernel; at most 83292 bytes of shared memory, 168 registers, 2008 bytes spilled",
    )
    assert judge({"kernels": [made]}, launched=True)[1].startswith("launched, not checked: ")
    unread = dict(name="k", shared_bytes=83292)  # by a disassembler that does not know the family
    assert (
        judge({"kernels": [unread]})[1] == "compiled, not run: 1 kernel; at most 83292 bytes of shared memory"
    )


@pytest.mark.parametrize("told", [{}, {"kernels": None}, {"kernels": ["k"]}])
def test_nothing_told_is_not_run(told: dict[str, object]) -> None:
    assert judge(told)[0] == "not_run"
