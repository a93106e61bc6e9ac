"""A GPU that is not there: the library's own choices are made for it, on tensors that hold nothing.

Only what is asked of torch in Python is answered. Whoever asks the driver itself finds none.
"""

import contextlib
from types import SimpleNamespace
from typing import Any

SMS = {
    "9.0": 132,
    "10.0": 148,
    "10.3": 160,
    "12.0": 170,
    "12.1": 48,
}  # of a usual card: the choices are by family


def properties(sm):
    major, minor = map(int, sm.split("."))
    return SimpleNamespace(
        name=f"a GPU of compute capability {sm}", major=major, minor=minor, warp_size=32,
        multi_processor_count=SMS.get(sm, 132), total_memory=80 << 30, L2_cache_size=50 << 20,
        shared_memory_per_block_optin=227 << 10, shared_memory_per_multiprocessor=228 << 10,
        regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048,
    )  # fmt: skip


@contextlib.contextmanager
def gpu(sm):
    """As if a GPU of compute capability `sm` ("9.0") were here, for all calls inside; no tensor takes memory."""
    import torch

    torch.empty(1, device="meta").add(
        1
    )  # torch imports its own pieces at the first call: not while pretending
    version = replaced(torch.version, cuda=torch.version.cuda or "13.0")
    driver = replaced(torch.cuda, **_driver(torch, sm))
    with version, driver, replaced(torch, Generator=_generator(torch)), _everywhere(torch):
        yield


@contextlib.contextmanager
def replaced(owner, **stand_ins):
    kept = {name: getattr(owner, name) for name in stand_ins}
    try:
        for name, value in stand_ins.items():
            setattr(owner, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(owner, name, value)


def _driver(torch, sm) -> "dict[str, Any]":
    found = properties(sm)
    stream = SimpleNamespace(cuda_stream=0, device=torch.device("cuda", 0))
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_name": found.name,
        "get_device_capability": (found.major, found.minor), "get_device_properties": found,
        "current_stream": stream, "synchronize": None, "is_current_stream_capturing": False,
    }  # fmt: skip
    said = {name: (lambda *_, value=value, **__: value) for name, value in answers.items()}
    return {**said, "device": lambda *_: contextlib.nullcontext()}


def _generator(torch):
    """Draws on the CPU and says that it is on the GPU."""

    class Generator(torch.Generator):  # type: ignore[misc,name-defined]
        device = property(lambda self: torch.device("cuda", 0))

        def __new__(cls, device=None):
            return super().__new__(cls, "cpu")

    return Generator


def _everywhere(torch):
    """What would be on the GPU has a shape and a type, and no values; it says that it is on the GPU."""
    from torch.overrides import TorchFunctionMode

    cuda, meta = torch.device("cuda", 0), torch.device("meta")
    device = torch.Tensor.device.__get__
    said = {
        device: lambda tensor: cuda if device(tensor) == meta else device(tensor),
        torch.Tensor.is_cuda.__get__: lambda tensor: device(tensor) == meta,
        torch.Tensor.get_device: lambda tensor: 0 if device(tensor) == meta else -1,
    }

    def moved(value):
        named = isinstance(value, str) and value.startswith("cuda")
        return meta if named or (isinstance(value, torch.device) and value.type == "cuda") else value

    class Everywhere(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function in said:
                return said[function](args[0])
            if function is torch.device:
                return function(*args, **(kwargs or {}))
            given = {name: moved(value) for name, value in (kwargs or {}).items() if name != "generator"}
            return function(*map(moved, args), **given)

    return Everywhere()
