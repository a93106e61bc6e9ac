"""Seeded tensors on the device: the same seed gives the same values whatever library is measured.

The values come from torch's generator alone. On another GPU model they may differ, so outputs are compared
between versions on one GPU only.
"""

from typing import Any


def device() -> Any:
    """Where the inputs are made; the tests put the CPU here."""
    import torch

    return torch.device("cuda")


def generator(seed: int) -> Any:
    import torch

    return torch.Generator(device=device()).manual_seed(seed)


def normal(source: Any, *shape: int, std: float = 1.0, dtype: str = "float32") -> Any:
    """Normally distributed values, drawn as float32 and then rounded."""
    import torch

    drawn = torch.randn(shape, generator=source, device=source.device).mul_(std)
    return drawn.to(getattr(torch, dtype))


def by_expert(experts: int, draw: Any) -> Any:
    """What `draw()` gives for each expert, stacked one by one: more than one is never held in float32."""
    first = draw()
    stacked = first.new_empty((experts, *first.shape))
    stacked[0] = first
    for expert in range(1, experts):
        stacked[expert] = draw()
    return stacked
