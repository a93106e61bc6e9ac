"""compute-sanitizer's reports in the wordings of several releases, as its manual and public threads show them."""

import time

import pytest

from workbench import sanitizer
from workbench.judge import Judgement
from workbench.results import Outcome

MATMUL = "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1_swiglu"
STRAY = f"""========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at {MATMUL}+0x3440 in _matmul_ogs.py:371
=========     by thread (32,0,0) in block (453,0,0)
=========     Access at 0x7f3c2b50e000 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f3c2b400000 of size 1,105,920 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch [0x2a11] in cuda_utils.so
=========
a line that the program itself printed
========= Invalid __global__ read of size 4 bytes
=========     at {MATMUL}+0x3440 in _matmul_ogs.py:371
=========     by thread (33,0,0) in block (453,0,0)
=========     Access at 0x7f3c2b50e003 is out of bounds
=========     and is 4 bytes after the nearest allocation at 0x7f3c2b400000 of size 1,105,920 bytes
=========
========= ERROR SUMMARY: 2752 errors
========= ERROR SUMMARY: 2650 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
SCALES = [
    {"name": "x", "address": 0x7F3C2A000000, "bytes": 4096},
    {"name": "exponents", "address": 0x7F3C2B400000, "bytes": 1105920},
]
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


def one(text, tensors=()):
    (found,) = sanitizer.placed(sanitizer.findings(text), tensors)
    return found


def test_a_stray_read_is_put_next_to_its_tensor():
    found = one(STRAY, SCALES)
    assert found == {
        "kind": "out_of_bounds", "access": "read", "bytes": 4, "kernel": MATMUL, "source": "_matmul_ogs.py:371",
        "distance_bytes": 1, "side": "after", "of_bytes": 1105920, "tensor": "exponents", "count": 2,
    }  # fmt: skip
    assert sanitizer.says(found) == (
        f"{MATMUL} (_matmul_ogs.py:371): 4 bytes read, 1 byte after `exponents` (1105920 bytes)"
    )
    assert sanitizer.errors(STRAY) == 2752


WORDINGS = {
    "2021": (
        "========= Invalid __global__ write of size 2 bytes\n"
        "=========     at 0xd80 in /data/src/kernels/paged.cu:162:void rotary<(bool)1, __half>(T2 *, int)\n"
        "=========     by thread (63,0,0) in block (506,0,0)\n"
        "=========     Address 0x7fcd07a0312c is out of bounds\n"
        "=========     and is 12589 bytes after the nearest allocation at 0x7fcd079ffc00 of size 1024 bytes\n",
        ("out_of_bounds", "write", 2, "void rotary<(bool)1, __half>(T2 *, int)", "paged.cu:162", 12589, "after", 1024),
    ),
    "before, and a German number": (
        "========= Invalid __global__ read of size 16 bytes\n"
        "=========     at _gemm_kernel+0x3440 in v3.py:42\n"
        "=========     by thread (32,0,0) in block (453,0,0)\n"
        "=========     Access to 0x1001c3ecc00 is out of bounds\n"
        "=========     and is 1.536 bytes before the nearest allocation at 0x1001c3ed200 of size 1.024 bytes\n"
        "=========         Device Frame: _gemm_kernel+0x12c0 in v3.py:122\n",
        ("out_of_bounds", "read", 16, "_gemm_kernel", "v3.py:42", 1536, "before", 1024),
    ),
    "an inlined function": (
        "========= Invalid __global__ read of size 4 bytes\n"
        "=========     at T1 wp::load<wp::vec_t<(unsigned int)3, float>>(T1 *)+0x1dd40 in array.h:908\n"
        "=========     by thread (0,0,0) in block (0,0,0)\n"
        "=========     Access at 0x327f6c26d4 is out of bounds\n"
        "=========     and is 209 bytes after the nearest allocation at 0x327f6c2600 of size 4 bytes\n"
        "=========         Device Frame: plane(int, wp::vec_t<(unsigned int)2, int>)+0x1dd40 in primitive.py:1047\n"
        "=========         Device Frame: narrow_cuda_kernel_forward+0x19560 in primitive.py:2858\n",
        ("out_of_bounds", "read", 4, "narrow_cuda_kernel_forward", "array.h:908", 209, "after", 4),
    ),
    "wrapped lines": (
        "========= Invalid __global__ write of size 8 bytes\n"
        "=========     at cloud_generator_acc_+0xca0\n=========        in cloud.F90:379\n"
        "=========     Access to 0x155097f5db68 is out of bounds\n"
        "=========     and is 873 bytes after the nearest allocation at 0x155097600000\n"
        "=========        of size 9,820,160 bytes\n"
        "=========     Device Frame: nvkernel_mcica__F1L416_16_\n",
        ("out_of_bounds", "write", 8, "nvkernel_mcica__F1L416_16_", "cloud.F90:379", 873, "after", 9820160),
    ),
    "no allocation named": (
        "========= Invalid __global__ read of size 8\n=========     at 0x000002e8 in Track(int*, Vault*)\n"
        "=========     by thread (127,0,0) in block (194,0,0)\n=========     Address 0x7f153e0002e8 is out of bounds\n",
        ("out_of_bounds", "read", 8, "Track(int*, Vault*)", "", None, "", None),
    ),
    "misaligned": (
        "========= Invalid __global__ write of size 4 bytes\n"
        "=========     at unaligned_kernel():0x160 in memcheck_demo.cu:6\n"
        "=========     by thread (0,0,0) in block (0,0,0)\n=========     Address 0x7f6510c00001 is misaligned\n",
        ("misaligned", "write", 4, "unaligned_kernel()", "memcheck_demo.cu:6", None, "", None),
    ),
    "an atomic": (
        "========= Invalid __global__ atomic of size 4 bytes\n=========     at moe_dynamic+0x10\n"
        "=========     Access to 0xf02a3c3d43fc is out of bounds\n"
        "=========     and is 4 bytes before the nearest allocation at 0xf02a3c3d4400 of size 2048 bytes\n",
        ("out_of_bounds", "atomic", 4, "moe_dynamic", "", 4, "before", 2048),
    ),
    "never written": (
        "========= Uninitialized __global__ memory read of size 4 bytes\n"
        "=========     at vectorAdd(int *)+0x70 in /home/cuda/Initcheck/memset_error.cu:41\n"
        "=========     by thread (31,0,0) in block (1,0,0)\n=========     Address 0x7f3c7ec000fc\n",
        ("uninitialized", "read", 4, "vectorAdd(int *)", "memset_error.cu:41", None, "", None),
    ),
    "a race": (
        "========= Error: Race reported between Write access at race(int *)+0x90 in probe.cu:13\n"
        "=========     and Read access at race(int *)+0xa0 in probe.cu:14 [2048 hazards]\n",
        ("race", "write and read", None, "race(int *)", "probe.cu:13", None, "", None),
    ),
    "the hardware's own": (
        "========= Warp illegal address\n=========     at _p_matmul_ogs_NNT_bf16+0x10 in ragged_tma.py:74\n",
        ("hardware", "warp illegal address", None, "_p_matmul_ogs_NNT_bf16", "ragged_tma.py:74", None, "", None),
    ),
}  # fmt: skip
FIELDS = ("kind", "access", "bytes", "kernel", "source", "distance_bytes", "side", "of_bytes")


@pytest.mark.parametrize("wording", WORDINGS)
def test_each_wording_is_read(wording):
    text, expected = WORDINGS[wording]
    found = one(text)
    assert tuple(found[name] for name in FIELDS) == expected
    assert sanitizer.says(found)


def test_an_address_inside_a_tensor_is_told_by_its_offset():
    text, _ = WORDINGS["never written"]
    found = one(text, [{"name": "partial", "address": 0x7F3C7EC00000, "bytes": 512}])
    assert (found["tensor"], found["side"], found["distance_bytes"]) == ("partial", "inside", 0xFC)
    assert sanitizer.says(found).endswith("4 bytes read, never written, 252 bytes into `partial` (512 bytes)")


def test_errors_of_calls_and_host_frames_are_no_findings():
    text = (
        '========= Program hit CUDA_ERROR_NOT_FOUND (error 500) due to "named symbol not found" on CUDA API call\n'
        "=========     Saved host backtrace up to driver entry point at error\n=========     Host Frame: [0x1]\n"
        "========= Target application returned an error\n========= ERROR SUMMARY: 1 error\n"
    )
    assert sanitizer.findings(text) == []


def test_text_of_any_quality_is_read():
    for end in range(0, len(STRAY), 7):
        for found in sanitizer.placed(sanitizer.findings(STRAY[:end]), SCALES):
            sanitizer.says(found)
    hostile = STRAY.replace(MATMUL, "\x1b[31m<b>\u202e" + "k" * 5000)
    assert "\x1b" not in sanitizer.says(one(hostile)) and len(sanitizer.says(one(hostile))) < 500
    odd = [
        None,
        {"name": 1},
        {"name": "x", "address": "0", "bytes": 4},
        {"name": "y", "address": -1, "bytes": 4},
    ]
    assert one(STRAY, odd)["tensor"] == ""


@pytest.mark.parametrize("part", ["k(", " in a:1", "Device Frame: ", "at ", "[1 hazards] ", "0x1 in "])
def test_a_text_made_to_be_slow_is_not(part):
    text = "========= Invalid __global__ read of size 4 bytes\n"
    text += "".join(f"=========     at {part * 900}\n" for _ in range(300))
    began = time.process_time()
    for found in sanitizer.findings(text):
        sanitizer.says(found)
    assert time.process_time() - began < 2


RIGHT = Judgement(Outcome.OK, "ok", "worst row off by 0.002")
AFTERWARDS = Judgement(
    Outcome.CRASHED, "launch_failure", "first_call: CUDA error: unspecified launch failure"
)


def report(text, tool="memcheck"):
    found = sanitizer.placed(sanitizer.findings(text), SCALES)
    return {"tool": tool, "findings": found, "errors": sanitizer.errors(text), "blind": sanitizer.blind(text)}


@pytest.mark.parametrize("before", [RIGHT, AFTERWARDS])
def test_a_finding_outranks_what_the_program_says(before):
    judged = sanitizer.judged(before, report(STRAY))
    assert (judged.outcome, judged.reason) == (Outcome.CRASHED, "illegal_memory_access")
    assert "1 byte after `exponents`" in judged.detail


def test_what_hangs_on_chance_is_not_right():
    judged = sanitizer.judged(RIGHT, report(WORDINGS["a race"][0], "racecheck"))
    assert (judged.outcome, judged.reason) == (Outcome.WRONG, "undefined_value")


def test_clean_is_said_only_by_a_report_that_came_to_its_end():
    assert sanitizer.judged(RIGHT, report(CLEAN)).outcome == Outcome.OK
    for text in ("", "========= COMPUTE-SANITIZER\n", "========= Error: No attachable process found.\n"):
        judged = sanitizer.judged(RIGHT, report(text))
        assert (judged.outcome, judged.reason) == (Outcome.NOT_RUN, "env_problem")
    missed = (
        "========= Internal Sanitizer Error: The Sanitizer encountered an error while launching k and didn't "
        "track the launch. Errors might go undetected.\n" + CLEAN
    )
    assert "undetected" in sanitizer.judged(RIGHT, report(missed)).detail
    assert sanitizer.judged(AFTERWARDS, report("")) == AFTERWARDS
