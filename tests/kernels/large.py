"""Holds 55 % of the GPU's memory while it is timed: two sides of it do not fit at once. Needs torch.

    workbench run --interleave --arms 2 --generations 1 --effort quick --mode eager --environment here \\
        --kernel-file tests/kernels/large.py
"""

API = "torch.neg"
DEVICES = ("cuda",)
TOLERANCE = 1e-6
VARIES = ()  # other values would need the memory a second time
CASES = [dict(share=0.55)]


def inputs(share, seed=0):
    import torch

    held = torch.zeros(int(share * torch.cuda.mem_get_info()[1]), dtype=torch.int8, device="cuda")
    x = held[: 2**26].view(torch.float32)
    return dict(held=held[:1], x=x.fill_(seed + 1.5))


def prepare(function, inputs):
    return lambda: function(inputs["x"])


def reference(inputs):
    return {"out": 0.0 - inputs["x"]}


def cost(share):
    return dict(bytes=2 * 2**26, flops=2**24, unit="fp32")
