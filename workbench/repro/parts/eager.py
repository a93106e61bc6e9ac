"""The plain call, checked over poisoned memory, twice."""

from workbench.repro.parts import answers, kernel
from workbench.worker import poison, values


def attempt():
    """What is wrong, in words; empty where nothing is."""
    data = kernel.inputs(**kernel.CASE)
    return checked(kernel.prepare(answers.function(), data), data)


def checked(call, data):
    """Call, and check over memory filled with 0xFF; then once more, with other inputs."""
    sizes = [values.size(each) for each in values.tensors(kernel.raw(call()))]
    for changed in (False, True)[: 1 + bool(kernel.VARIES)]:
        if changed:
            answers.change(data)
        poison.before(call, sizes)
        if problem := answers.wrong(call(), data):
            return problem
    return ""
