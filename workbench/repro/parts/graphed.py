"""The call in a CUDA graph, replayed over poisoned memory, twice."""

from workbench.repro.parts import answers, kernel
from workbench.worker import graph, poison, values


def attempt():
    """Capture the call, replay it over answers filled with 0xFF, then with other inputs; what is wrong, in words."""
    import torch

    data = kernel.inputs(**kernel.CASE)
    call = kernel.prepare(answers.function(), data)
    call()
    captured, result = graph.record(call)
    for changed in (False, True)[: 1 + bool(kernel.VARIES)]:
        if changed:
            answers.change(data)
        for tensor in values.tensors(kernel.raw(result)):
            poison.fill(tensor)
        captured.replay()
        torch.cuda.synchronize()
        if problem := answers.wrong(result, data):
            return problem
    return ""
