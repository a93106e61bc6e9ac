"""Fails on a GPU in each of the ways that a real kernel can, and is right in between. Needs torch and Triton.

`zoo_reads` doubles x, by way of an address that it is told; and reads 4 bytes more, at `past` bytes from `spare`.
"""

API = "torch.mul"
DEVICES = ("cuda",)
TOLERANCE = 1e-6
VARIES = ("x", "low")
N = 1024
HOWS = (
    "right", "illegal_address", "misaligned", "asserts", "out_of_memory", "endless",
    "illegal_in_capture", "synchronizes", "illegal_in_replay", "reads_after", "reads_before", "reads_unwritten",
    "races",
)  # fmt: skip
CASES = [dict(how=how, place=place) for how in HOWS for place in ((0, 1, 2) if how == "right" else (0,))]


def inputs(how, place, seed=0):
    """`low` is 1 where the kernel is to read from address 64, which nobody has."""
    import torch

    source = torch.Generator(device="cuda").manual_seed(seed + place)
    x = torch.randn(N, generator=source, device="cuda")
    bad = how == "illegal_address" or (how == "illegal_in_replay" and seed)
    return dict(x=x, low=torch.full((1,), int(bad), dtype=torch.int32, device="cuda"), how=how)


def prepare(function, inputs):
    import torch

    x, low, how = inputs["x"], inputs["low"], inputs["how"]
    scratch = torch.empty(N, device="cuda")
    out = torch.empty(N + 1, device="cuda")
    spare, past = {
        "reads_after": (x, 4 * N),
        "reads_before": (x, -4),
        "reads_unwritten": (scratch, 0),
    }.get(how, (x, 0))
    shift = 1 if how == "misaligned" else 0
    kernel, calls = _kernel(), []

    def call():
        calls.append(1)
        if how == "illegal_in_capture" and len(calls) > 1:
            low.fill_(1)
        _host_side(how, calls)
        kernel[(1,)](x, low, shift, spare, past, out, N=N)
        if how == "races":
            _racing()[(1,)](scratch, N=N)
        return out[:N]

    call.outputs = [out]
    return call


def reference(inputs):
    return {"out": inputs["x"].double() * 2}


def cost(how, place):
    return dict(bytes=8 * N, flops=N, unit="fp32")


def _host_side(how, calls):
    import torch

    if how == "asserts":
        torch._assert_async(torch.zeros(1, dtype=torch.bool, device="cuda"))
    elif how == "out_of_memory":
        torch.empty(2**50, dtype=torch.uint8, device="cuda")
    elif how == "endless":
        torch.cuda._sleep(2**62)  # cycles: a hundred years
    elif how == "synchronizes" and len(calls) > 1:
        torch.cuda.synchronize()


def _kernel():
    global tl  # Triton looks its language up among the file's own names
    import triton
    import triton.language as tl

    @triton.jit
    def zoo_reads(x, low, shift, spare, past, out, N: tl.constexpr):
        lanes = tl.arange(0, N)
        is_low = tl.load(low).to(tl.int64)
        start = (x.to(tl.int64) + shift) * (1 - is_low) + 64 * is_low
        places = (start + lanes.to(tl.int64) * 4).to(tl.pointer_type(tl.float32))
        tl.store(out + lanes, tl.load(places) * 2)
        more = (spare.to(tl.int64) + past).to(tl.pointer_type(tl.float32))
        tl.store(out + N, tl.load(more))

    return zoo_reads


def _racing():
    global tl
    import triton
    import triton.language as tl

    @triton.jit
    def zoo_races(out, N: tl.constexpr):
        """All threads write one word of shared memory and read it back, and nobody waits."""
        lanes = tl.arange(0, N)
        last = tl.inline_asm_elementwise(
            """{
                .shared .align 4 .b32 spot;
                st.volatile.shared.b32 [spot], $1;
                ld.volatile.shared.b32 $0, [spot];
            }""",
            "=r,r", [lanes], dtype=tl.int32, is_pure=False, pack=1,
        )  # fmt: skip
        tl.store(out + lanes, last.to(tl.float32))

    return zoo_races
