"""Calls for the mode `compiled`: each `what` is a way in which a call compiles, does not, or asks for too much."""

API = "triton.cdiv"  # anything that is there: the kernels are our own
DEVICES = ("cuda",)
TOLERANCE = 0.0
VARIES = ("x",)
CASES = [
    dict(what=what)
    for what in (
        "copies",
        "writes_nothing",
        "multiplies",
        "asserts",
        "asks_what_nobody_knows",
        "looks_at_values",
    )
]


def inputs(*, what, seed=0):
    import torch

    x = torch.zeros(1024, 1024, dtype=torch.float16, device="cuda")
    return dict(x=x, chosen=torch.tensor([3, 1], device="cuda"), what=what)


def prepare(function, inputs):
    import torch

    what, x = inputs["what"], inputs["x"]

    def call():
        y, properties = torch.empty_like(x), torch.cuda.get_device_properties(0)
        assert inputs["chosen"].sum().item() == 4  # made from values, so it has them
        if what == "asserts":
            assert properties.shared_memory_per_block_optin >= 2**30
        if what == "asks_what_nobody_knows":
            return properties.clock_rate
        if what == "looks_at_values":
            return x.sum().item()
        from . import _triton

        getattr(_triton, what)[(8,)](x, y, x.shape[1], BLOCK=128, num_stages=6 if what == "multiplies" else 4)
        return y

    return call


def reference(inputs):
    return {"out": inputs["x"].float()}


def cost(*, what):
    return dict(bytes=4 * 2**20, flops=0)
