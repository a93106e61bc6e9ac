"""Copies bytes, and beside it reads 1, 4 or 64 bytes before or after memory that is not its own.

What it reads astray goes to a buffer of its own, so that the answer is right wherever nothing stops it. `of` is
whose edge is overstepped: that of an input in an object in a list, or of a workspace which the call allocates.
"""

API = "triton.cdiv"
DEVICES = ("cuda",)
TOLERANCE = 0
VARIES = ("x",)
BYTES, BLOCK = 4096, 1024
CASES = [
    dict(side="none", reach=0, of="input"),
    *(dict(side=side, reach=reach, of="input") for side in ("after", "before") for reach in (1, 4, 64)),
    *(dict(side=side, reach=4, of="workspace") for side in ("after", "before")),
    dict(side="none", reach=0, of="workspace"),
]


class Holder:
    def __init__(self, x):
        self.storage = [dict(data=x)]


def inputs(*, side, reach, of, seed=0):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"  # the CPU with TRITON_INTERPRET=1
    source = torch.Generator(device=device).manual_seed(seed)
    room = torch.randint(0, 255, (3 * BYTES,), generator=source, device=device).to(torch.uint8)
    return dict(x=room[BYTES : 2 * BYTES], side=side, reach=reach, of=of)


def prepare(function, inputs):
    import torch

    held, reach, of = Holder(inputs["x"]), inputs["reach"], inputs["of"]
    begin = BYTES if inputs["side"] == "after" else -reach
    out, strays, copy = torch.empty_like(inputs["x"]), torch.zeros_like(inputs["x"]), kernel()

    def call():
        x = held.storage[0]["data"]
        workspace = torch.empty(BYTES, dtype=torch.uint8, device=x.device)
        target = x if of == "input" else workspace
        copy[(function(BYTES, BLOCK),)](x, workspace, out, target, strays, begin, REACH=reach, BLOCK=BLOCK)
        return out

    call.outputs = [out]
    return call


def kernel():
    global tl
    import triton
    import triton.language as tl

    @triton.jit
    def copy(x, workspace, out, target, strays, begin, REACH: tl.constexpr, BLOCK: tl.constexpr):
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + place)
        tl.store(workspace + place, values)
        tl.store(out + place, values)
        if REACH > 0:
            astray = tl.arange(0, REACH)
            tl.store(strays + astray, tl.load(target + begin + astray))

    return copy


def outputs(result, inputs):
    return {"out": result.float()}


def reference(inputs):
    return {"out": inputs["x"].float()}


def cost(*, side, reach, of):
    return dict(bytes=2 * BYTES, flops=0, unit="fp32")
