"""Captures a call into a CUDA graph, and proves that a replay reads its inputs anew."""

from . import poison, trial, values

WARM_UP_CALLS = 3


def captured(kernel, call, inputs, case, stage, tell):
    """The replay, ready to be timed; None where an answer is wrong. Tells `check` and `check_changed`."""
    stage("capture")
    graph, result = record(call)
    stage("replay")
    if not replays_right(graph, kernel, result, inputs, tell, "check"):
        return None
    trial.change(kernel, inputs, case)
    if not replays_right(graph, kernel, result, inputs, tell, "check_changed"):
        return None
    return graph.replay


def record(call):
    """The call as a CUDA graph, after a few calls on a stream of their own; and the answer that a replay writes."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP_CALLS):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return graph, result


def replays_right(graph, kernel, result, inputs, tell, name):
    import torch

    for tensor in values.tensors(trial.raw(kernel, result)):
        poison.fill(tensor)
    graph.replay()
    torch.cuda.synchronize()
    return trial.right(kernel, result, inputs, tell, name)
