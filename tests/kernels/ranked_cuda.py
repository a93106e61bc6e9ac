"""NCCL all-reduces, one GPU a rank: right, or rank 1 is killed or hangs while the other GPU waits for it."""

API = "torch.distributed.all_reduce"
DEVICES = ("cuda",)
TOLERANCE = 1e-5
VARIES = ("shares",)
CASES = [
    dict(ranks=2, how=how, place=place)
    for place, how in enumerate(("right", "killed", "right", "hung", "right"))
]


def inputs(ranks, how, place, seed=0):
    import torch

    source = torch.Generator(device="cuda").manual_seed(seed)
    return dict(shares=torch.randn(ranks, 8, 4096, generator=source, device="cuda"), how=how)


def prepare(function, inputs):
    import os
    import signal
    import time

    import torch.distributed as dist

    acts = {"killed": lambda: os.kill(os.getpid(), signal.SIGKILL), "hung": lambda: time.sleep(600)}
    act = acts.get(inputs["how"]) if dist.get_rank() == 1 else None
    out = inputs["shares"][0].clone()

    def call():
        if act:
            act()
        out.copy_(inputs["shares"][dist.get_rank()])
        function(out)
        return out

    call.outputs = [out]
    return call


def reference(inputs):
    return {"out": inputs["shares"].double().sum(0)}


def cost(ranks, how, place):
    return dict(bytes=2 * 8 * 4096 * 4, link_bytes=8 * 4096 * 4, flops=0, unit="fp32")
