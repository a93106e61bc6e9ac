"""One rank among several: meets the others, and agrees with them on all that every rank must do alike.

Who it is comes by variables, as torchrun sets them; without them there is one rank and nobody to ask. The
first RANKS of the world take part; the others are bystanders, who join the world and do nothing else.
"""

import os
import sys
import threading
from typing import Any

RANKS, MEETING = "WORKBENCH_RANKS", "WORKBENCH_MEETING"
LEAVE_S = 5.0
_MET: dict[str, Any] = {}  # once a process: the group of those that take part, for what they agree on


def bystander():
    return RANKS in os.environ and int(os.environ["RANK"]) >= int(os.environ[RANKS])


def join(device):
    """Meet the others, once a process: torch.distributed's world is made, and this rank's device is current."""
    if RANKS not in os.environ or _MET:
        return
    import torch
    import torch.distributed as dist

    if device == "cuda" and not bystander():
        torch.cuda.set_device(int(os.environ["RANK"]))
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo",
        init_method=os.environ[MEETING],
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    _MET["agreeing"] = None if bystander() else _members(dist)


def _members(dist):
    members = list(range(int(os.environ[RANKS])))
    return dist.new_group(members, backend="gloo", use_local_synchronization=True)


def largest(value):
    """The largest of what the ranks say; each must ask as often as the others. Alone, the value itself."""
    if _MET.get("agreeing") is None:
        return value
    import torch
    import torch.distributed as dist

    said = torch.tensor([float(value)], dtype=torch.float64)
    dist.all_reduce(said, op=dist.ReduceOp.MAX, group=_MET["agreeing"])
    return float(said)


def all_say(yes):
    """Whether every rank says yes: none of them may go on alone."""
    return not largest(not yes)


def leave():
    """The tidy end: all ranks are asked to leave at the same time. Who cannot, ends without it."""
    if not _MET:
        return
    leaving = threading.Thread(target=sys.modules["torch.distributed"].destroy_process_group, daemon=True)
    leaving.start()
    leaving.join(LEAVE_S)
    if leaving.is_alive():  # NCCL waits for ever while a graph is left that holds one of its calls
        os._exit(0)
