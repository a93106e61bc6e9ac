"""The plain call, its tensors beside pages that are not mapped."""

from workbench.repro.parts import answers, eager, kernel
from workbench.worker import mapping, placing, reach


def attempt():
    """Move the tensors that the call reaches, all or those of ONLY, so that EDGE of each lies at an unmapped page."""
    data = kernel.inputs(**kernel.CASE)
    call = kernel.prepare(answers.function(), data)
    placing.Fence(mapping.here(), kernel.EDGE, kernel.ONLY or None).put(reach.tensors(call, data))
    return eager.checked(call, data)
