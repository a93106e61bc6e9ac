"""What a library does with the arguments of an expert layer, by their bytes and addresses: nothing of the kernels' own.

Each stand-in unpacks what it is given, computes token by token, rounds the middle and every partial sum to bfloat16
as the library may do it, and writes the answer into the given buffer.
"""

import inspect
from types import SimpleNamespace

import torch  # noqa: TID253

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def stating(parameters, body):
    """A function of those parameters (text, as in a wheel) that hands what it is called with to `body`."""
    scope = {"ActivationType": SimpleNamespace(Swiglu="Swiglu")}
    exec(f"def stated({parameters}): pass", scope)
    signature = inspect.signature(scope["stated"])

    def function(*args, **kwargs):
        assert not args, "arguments go by keyword"
        bound = signature.bind(**kwargs)
        function.got = bound.arguments
        bound.apply_defaults()
        return body(**bound.arguments)

    function.__signature__ = signature
    return function


def codes(packed):
    """Float32 of e2m1, two a byte, the even column in the low half; 64-bit integers hold sixteen."""
    flat = packed.contiguous().view(torch.uint8).int()
    return E2M1[torch.stack((flat & 15, flat >> 4), dim=-1).flatten(-2).long()]


def from_tiles(stored, rows, columns):
    """Bytes [rows, columns] from where the kernels' sources say that they are, tiles of 128 x 4."""
    flat, wide = stored.contiguous().view(torch.uint8).flatten(), -(-columns // 4)
    m, k = torch.arange(rows).unsqueeze(1), torch.arange(columns)
    tile = (m // 128) * wide + k // 4
    return flat[tile * 512 + (m % 32) * 16 + (m % 128) // 32 * 4 + k % 4]


def e4m3(scales):
    return scales.contiguous().view(torch.uint8).view(torch.float8_e4m3fn).float()


def power_of_two(exponents):
    return torch.exp2(exponents.float() - 127)


def scaled(values, scales, group):
    return values * scales.repeat_interleave(group, dim=-1)


def silu(products):
    up, gate = products.chunk(2, dim=-1)
    return up * gate / (1 + torch.exp(-gate))


def gpt_oss(alpha, beta, limit):
    def activation(products):
        up, gate = products.chunk(2, dim=-1)
        gate = torch.minimum(gate, limit)
        return gate / (1 + torch.exp(-alpha * gate)) * (torch.clamp(up, -limit, limit) + beta)

    return activation


def to_nvfp4(values, global_scale):
    """Rounded to nvfp4, by distances to the grid."""
    grouped = values.unflatten(-1, (-1, 16))
    scales = (grouped.abs().amax(-1, keepdim=True) / 6 * global_scale).clamp(max=448)
    scales = scales.to(torch.float8_e4m3fn).float()
    wanted = torch.where(scales > 0, grouped * global_scale / scales, 0.0)
    nearest = E2M1[(wanted.unsqueeze(-1) - E2M1).abs().argmin(-1)]
    return (nearest * scales / global_scale).flatten(-2)


def to_mxfp8(values):
    grouped = values.unflatten(-1, (-1, 32))
    scales = torch.exp2(torch.ceil(torch.log2(grouped.abs().amax(-1, keepdim=True) / 448).clamp(min=-126)))
    return ((grouped / scales).to(torch.float8_e4m3fn).float() * scales).flatten(-2)


def layer(x, chosen, gates, out, offset, first, second, middle, biases=None):
    """`first` and `second` give an expert's float32 weights, `middle` what is between, of products and the expert."""
    experts = range(offset, offset + second.count)
    out.zero_()
    for token, row in enumerate(chosen.tolist()):
        for choice, expert in enumerate(row):
            if expert in experts:
                local = expert - offset
                products = first(local) @ x[token] + (biases[0][local].float() if biases else 0)
                rounded = middle(products.bfloat16().float(), local)
                part = second(local) @ rounded + (biases[1][local].float() if biases else 0)
                out[token] += (gates[token, choice] * part).bfloat16()


def weights(count, of_expert):
    of_expert.count = count
    return of_expert
