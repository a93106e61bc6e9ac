"""All-reduces over gloo on the CPU, right or failing in one of its ranks in each of the ways that a rank can."""

API = "torch.distributed.all_reduce"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ("shares",)
HOWS = (
    "right", "wrong", "right", "segfaults", "right", "hangs", "right", "raises", "right", "exits", "right",
    "refuses", "right", "prepares_for_ever", "is_killed", "right",
)  # fmt: skip
CASES = [dict(ranks=ranks, how=how, place=place) for ranks in (2, 4) for place, how in enumerate(HOWS)]


def inputs(ranks, how, place, bystanders=0, seed=0):
    import torch

    source = torch.Generator().manual_seed(seed)
    return dict(shares=torch.randn(ranks, 8, 16, generator=source), how=how, bystanders=bystanders)


def prepare(function, inputs):
    import os
    import signal
    import time

    import torch.distributed as dist

    group = dist.group.WORLD
    if inputs["bystanders"]:
        group = dist.new_group(range(len(inputs["shares"])), use_local_synchronization=True)
    odd = dist.get_rank() == 1
    if odd and inputs["how"] == "refuses":
        raise NotImplementedError("not on this rank")
    if odd and inputs["how"] == "prepares_for_ever":
        time.sleep(600)
    if odd and inputs["how"] == "is_killed":
        os.kill(os.getpid(), signal.SIGKILL)
    act = globals().get("_" + inputs["how"]) if odd else None

    def call():
        out = inputs["shares"][dist.get_rank()].clone()
        if act:
            act(out)
        function(out, group=group)
        return out * 2 if odd and inputs["how"] == "wrong" else out

    return call


def reference(inputs):
    return {"out": inputs["shares"].double().sum(0)}


def cost(ranks, how, place, bystanders=0):
    return dict(bytes=0, flops=0, unit="fp32")


def _segfaults(out):
    import ctypes

    ctypes.string_at(0)


def _hangs(out):
    import time

    time.sleep(600)


def _raises(out):
    raise ValueError("these shares are of no use")


def _exits(out):
    import os

    os._exit(0)
