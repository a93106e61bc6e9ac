"""The plain call, its tensors and those that it allocates beside pages that are not mapped."""

from workbench.repro.parts import answers, eager, kernel
from workbench.worker import fence, mapping, placing, reach


def attempt():
    """Move the tensors that the call reaches, and what it allocates, so that EDGE of each lies at an unmapped page."""
    data = kernel.inputs(**kernel.CASE)
    call = kernel.prepare(answers.function(), data)
    walls = placing.Fence(mapping.here(), kernel.EDGE, kernel.ONLY or None)
    walls.put(reach.tensors(call, data))
    return eager.checked(fence.around(call, walls, tell), data)


def tell(**facts):
    """What was moved, and how tightly."""
    print(facts, flush=True)
