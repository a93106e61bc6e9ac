"""The ranks of a trial: the first `ranks` of torch.distributed's world, which the worker has made."""

from functools import cache
from typing import Any


def rank() -> int:
    import torch.distributed as dist

    return dist.get_rank()


@cache
def group(ranks: int) -> Any:
    """The process group of those that take part: the world itself, or the part of it without bystanders."""
    import torch.distributed as dist

    if dist.get_world_size() == ranks:
        return dist.group.WORLD
    return dist.new_group(list(range(ranks)), use_local_synchronization=True)
