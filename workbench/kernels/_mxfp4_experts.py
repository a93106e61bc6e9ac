"""The expert layers of gpt-oss with mxfp4 weights: drawn, and computed by our own code.

Rows are pairs of a token and one of its choices, sorted by expert and, within an expert, by token.
"""

from typing import Any

from . import _draw, _fp4, _routing, _shapes

ALPHA, LIMIT = _shapes.GPT_OSS_ALPHA, _shapes.GPT_OSS_LIMIT


def draw(source: Any, experts: int, columns: int, width: int, std: float) -> tuple[Any, Any]:
    """Packed codes [experts, columns, width/2] and exponents [experts, columns, width/32], an expert at a time."""
    import torch

    packed = torch.empty((experts, columns, width // 2), dtype=torch.uint8, device=source.device)
    exponents = torch.empty((experts, columns, width // _fp4.GROUP), dtype=torch.uint8, device=source.device)
    for expert in range(experts):
        drawn = _draw.normal(source, columns, width, std=std)
        packed[expert], exponents[expert] = _fp4.mx_quantize(drawn)
    return packed, exponents


def padded(exponents: Any) -> Any:
    """The groups along the last dimension as a multiple of four; the new ones belong to no weight."""
    import torch

    return torch.nn.functional.pad(exponents, (0, -exponents.shape[-1] % 4))


def rows_of(x: Any, chosen: Any, experts: int) -> Any:
    """Float32: the token of each row."""
    position, _ = _routing.sorted_rows(chosen, experts)
    return x.float()[position // chosen.shape[1]]


def products(rows: Any, chosen: Any, packed: Any, exponents: Any, bias: Any) -> Any:
    """Float32 [rows, columns]: each row times the weights of its expert, and the bias."""
    _, counts = _routing.sorted_rows(chosen, len(packed))
    answer = rows.new_empty((len(rows), packed.shape[1]))
    start = 0
    for expert, count in enumerate(counts.tolist()):
        of_expert = slice(start, start + count)
        start += count
        if count:
            weight = _fp4.mx_dequantize(packed[expert], exponents[expert])
            answer[of_expert] = rows[of_expert] @ weight.T + bias[expert]
    return answer


def swiglu(products: Any) -> Any:
    """gate * sigmoid(alpha * gate) * (linear + 1) of even and odd columns, cut off at the limit."""
    gate = products[..., 0::2].clamp(max=LIMIT)
    linear = products[..., 1::2].clamp(-LIMIT, LIMIT)
    return gate * (ALPHA * gate).sigmoid() * (linear + 1)


def combined(products: Any, chosen: Any, gates: Any, experts: int) -> Any:
    """Float32 [tokens, columns]: the rows of each token times their gates, added up."""
    position, _ = _routing.sorted_rows(chosen, experts)
    weighted = products * gates.flatten()[position].unsqueeze(-1)
    answer = products.new_zeros((len(chosen), products.shape[1]))
    return answer.index_add_(0, position // chosen.shape[1], weighted)


def weight_bytes(columns: int, width: int) -> int:
    """Codes, scales and bias of one expert; scales that are padding are not counted."""
    return _fp4.mx_bytes(columns * width) + 4 * columns
