"""A torch kernel on the CPU that writes into its own buffer: all of it, all but a row, or nothing."""

API = "torch.mul"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ("x",)
CASES = [dict(how=how) for how in ("all", "all_but_a_row", "nothing", "bad_shape", "other_names")]


def inputs(how, seed=0):
    import torch

    source = torch.Generator().manual_seed(seed)
    return dict(x=torch.randn(64, 32, generator=source), how=how)


def prepare(function, inputs):
    import torch

    x, how = inputs["x"], inputs["how"]
    out = torch.zeros_like(x)
    written = {"all": 64, "all_but_a_row": 63, "nothing": 0}.get(how, 64)

    def call():
        if written:
            function(x[:written], 2.0, out=out[:written])
        return out[:32] if how == "bad_shape" else out

    call.outputs = [out]
    return call


def outputs(result, inputs):
    return {"other" if inputs["how"] == "other_names" else "out": result}


def reference(inputs):
    return {"out": inputs["x"].double() * 2}


def cost(how):
    return dict(bytes=2 * 64 * 32 * 4, flops=64 * 32, unit="fp32")
