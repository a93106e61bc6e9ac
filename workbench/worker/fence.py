"""Puts tensors next to pages that are not mapped: who reads or writes past them is stopped by the GPU itself.

Tensors are moved in place, so that everybody who holds them, or views of them, sees the new memory. What is
known by a bare address (a descriptor made earlier, a `data_ptr` kept) cannot be moved, and what is allocated
without torch is not seen. A library that aligns addresses by more than `alignment` bytes and counts on
torch's 512 may step over a fence for that alone: such a finding goes away with a wider alignment.
"""

from . import mapping, placing, reach, values

EDGES = {
    "fenced": "end",
    "fenced_start": "start",
    "piecewise+fenced": "end",
}  # mode -> where tensors are tight


def edge(command):
    """`end` or `start`; None where the command wants no fence."""
    return (command.get("fence") or {}).get("edge") or EDGES.get(command["mode"])


def behind(command, kernel, call, inputs, tell, stopped):
    """The call with its tensors behind the fence that the command wants; raises `stopped` where none can be had.

    The command's `fence` may have `edge`, `only` (names of tensors) and `alignment`.
    """
    if command["device"] == "cpu":
        raise stopped("not_run", "a fence is made of a GPU's pages, and this kernel runs on the CPU")
    values.synchronize(command["device"])
    try:
        memory = mapping.here()
    except mapping.Refused as problem:
        raise stopped("not_run", f"no fence can be put up here: {problem}") from problem
    wanted = {**(command.get("fence") or {}), "edge": edge(command)}
    reached = kernel.reached(inputs) if hasattr(kernel, "reached") else None
    return put_up(call, inputs, placing.Fence(memory, **wanted, reached=reached), tell)


def put_up(call, inputs, fence, tell):
    """Move what the call and its inputs reach; gives a call whose own allocations are fenced, too.

    What was moved is told as `forensic` before this returns, so that a crash loses nothing of it. Call
    `mapping.give_back` when the call and its inputs are gone.
    """
    named = reach.tensors(call, inputs)
    fence.put(named)
    fence.note_others(tensor for _, tensor in named)
    tell(forensic={"fence": fence.facts()})
    return around(call, fence, tell)


def around(call, fence, tell):
    """The call, with what torch gives it meanwhile on fenced memory as `allocated[0]` and so on."""
    watch = _allocations(fence)

    def fenced():
        before, fence.count = len(fence.tensors), 0
        try:
            with watch:
                return call()
        finally:
            if len(fence.tensors) > before:
                tell(forensic={"fence": fence.facts()})

    if hasattr(call, "outputs"):
        fenced.outputs = call.outputs  # type: ignore[attr-defined]
    return fenced


def _allocations(fence):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Allocations(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls):
            return False  # else the first call imports all of torch's compiler, which takes seconds

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            given = values.tensors((args, kwargs))
            if function.namespace not in ("aten", "prim", "prims") and given:
                with self:  # an operator of a library's own: look inside
                    return function.redispatch(_backend(given), *args, **kwargs)
            result = function(*args, **kwargs)
            empty = function._schema.name.partition("::")[2].startswith(("empty", "new_empty"))
            fence.put_allocated(_new(result, given, fence.memory), keep=not empty)
            return result

    def _backend(given):
        key = "CUDA" if any(each.is_cuda for each in given) else "CPU"
        return torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    return Allocations()


def _new(result, given, memory):
    """The tensors of a result whose memory is no argument's: it was allocated just now, on our device."""
    old = {each.untyped_storage().data_ptr() for each in given if each.numel()}
    return [
        each
        for each in values.tensors(result)
        if each.device == memory.device and each.numel() and each.untyped_storage().data_ptr() not in old
    ]
