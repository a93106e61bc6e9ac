"""Captures a call as serving engines do: a ladder of sizes, largest first, all graphs in one memory pool.

Each size has three pieces, captured one after the other: copies of what varies, the call, a copy of its answer.
What a piece allocates goes back to the pool when nobody holds it any more, and the next size is given it again. Between
captures other memory is taken and freed, at every second size also returned to the driver. Then replays in
shuffled order, other values copied in before each, and every answer checked.

Behind a fence (piecewise+fenced) stand the weights, what was made of them, and the inputs that all sizes share;
what is made for one size, and what lies in the pool, does not.
"""

import random
from dataclasses import dataclass
from typing import Any

from . import graph, trial, values

LADDER = (8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
DISTURBANCES_MB = (1, 3, 20, 64)


@dataclass
class Rung:
    """The pieces of one size. `kept` is where the last of them puts the answer, and `inputs` what the call reads."""

    size: int
    pieces: list[Any]
    inputs: dict[str, Any]
    call: Any
    kept: Any


def captured(kernel, function, inputs, case, stage, tell):
    """The replay of the largest size's call, ready to be timed; None where an answer is wrong.

    Tells `piecewise`, the size and the step at hand, before each step: the last one told is where it died.
    """
    import torch

    if not hasattr(kernel, "part"):
        raise trial.Stopped(
            "not_run", "this kernel does not say how its inputs are cut into smaller ones (part)"
        )
    static, largest = {name: inputs[name] for name in kernel.VARIES}, case[kernel.SIZE]
    stage("capture")
    pool, rungs = torch.cuda.graph_pool_handle(), []
    for step, size in enumerate(ladder(largest)):
        tell(piecewise={"size": size, "step": "capture"})
        given = kernel.part(inputs, size) if size < largest else dict(inputs)
        rungs.append(_rung(kernel, function, given, size, pool))
        _disturb(return_it=step % 2 == 1)
    stage("replay")
    other = kernel.inputs(**case, seed=1)
    for turn, rung in enumerate(shuffled(rungs)):
        tell(piecewise={"size": rung.size, "step": "replay"})
        for name, tensor in static.items():
            tensor.copy_(other[name].roll(turn, 0))
        if not _right(kernel, rung, tell):
            return None
    tell(piecewise={"sizes": [rung.size for rung in rungs], "replays": len(rungs)})
    return rungs[0].pieces[1].replay


def ladder(largest):
    """The sizes of a ladder that begins at `largest`."""
    return [largest, *(size for size in LADDER if size < largest)]


def shuffled(rungs):
    """In an order that is the same in every version."""
    return random.Random(len(rungs)).sample(rungs, len(rungs))


def _rung(kernel, function, given, size, pool):
    import torch

    side = torch.cuda.Stream()
    varying = {name: given[name] for name in kernel.VARIES}
    before, read = _piece(pool, lambda: {name: tensor.clone() for name, tensor in varying.items()})
    before.replay()  # what the call reads must hold values before it is warmed up
    inputs = {**given, **read}
    call = trial.prepared(kernel, function, inputs)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(graph.WARM_UP_CALLS):
            result = call()
    torch.cuda.current_stream().wait_stream(side)
    kept = alike(result)
    during, result = _piece(pool, call)
    after, _ = _piece(pool, lambda: copy(result, kept))
    return Rung(size, [before, during, after], inputs, call, kept)


def _piece(pool, work):
    """A graph of this work, and what the work gave while it was captured."""
    import torch

    piece = torch.cuda.CUDAGraph()
    with torch.cuda.graph(piece, pool=pool):
        given = work()
    return piece, given


def _disturb(return_it):
    """Take and free memory, as an engine does between two captures."""
    import torch

    held = [torch.empty(size << 20, dtype=torch.uint8, device="cuda") for size in DISTURBANCES_MB]
    for block in held:
        block.fill_(0xFF)
    del block, held
    torch.cuda.synchronize()
    if return_it:
        torch.cuda.empty_cache()


def _right(kernel, rung, tell):
    import torch

    from . import poison

    for tensor in values.tensors(trial.raw(kernel, rung.kept)):
        poison.fill(tensor)
    for piece in rung.pieces:
        piece.replay()
    torch.cuda.synchronize()
    return trial.right(kernel, rung.kept, rung.inputs, tell)


def alike(value):
    """Memory of its own for the same answer: a tensor, or a list or tuple of them."""
    import torch

    if isinstance(value, (list, tuple)):
        return tuple(alike(member) for member in value)
    return torch.empty_like(value)


def copy(source, target):
    if isinstance(source, (list, tuple)):
        for one, other in zip(source, target):  # noqa: B905 - Python 3.10
            copy(one, other)
    else:
        target.copy_(source)
