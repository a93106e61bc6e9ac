"""A kernel with a dial: it moves `dial` more bytes than it must, so that a change of known size can be looked for."""

API = "torch.neg"
DEVICES = ("cuda",)
TOLERANCE = 1e-6
VARIES = ("x",)
CASES = [dict(millions=25, dial=dial) for dial in (0.0, 0.01, 0.02, 0.05)]


def inputs(*, millions, dial, seed=0):
    import torch

    source = torch.Generator(device="cuda").manual_seed(seed)
    return dict(x=torch.randn(int(millions * 1e6 * (1 + dial)), generator=source, device="cuda"))


def prepare(function, inputs):
    import torch

    out = torch.empty_like(inputs["x"])

    def call():
        return function(inputs["x"], out=out)

    call.outputs = [out]
    return call


def reference(inputs):
    return {"out": 0.0 - inputs["x"]}


def cost(*, millions, dial):
    return dict(bytes=8 * millions * 1e6, flops=millions * 1e6, unit="fp32")
