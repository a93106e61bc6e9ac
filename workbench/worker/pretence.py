"""A GPU that is not there: the library's own choices are made for it, and nothing is computed on it.

Pretended are what torch says of the device, and tensors on it: they have shape and type and no values, except those
made from values in Python (which experts a token goes to), which keep them on the CPU. Whoever asks the driver
itself finds none. What the architecture fixes is NVIDIA's table of compute capabilities; what a card chooses is
that of one card, named in `CARDS`, and is told in `Card.chosen` where somebody asks for it.
"""

import contextlib
from types import SimpleNamespace
from typing import Any

from .everywhere import everywhere

KIB = 1 << 10
CARDS = {  # compute capability -> a card that has it, its multiprocessors, GiB of memory, MiB of L2
    "9.0": ("H200", 132, 141, 50), "10.0": ("B200", 148, 180, 126), "10.3": ("B300", 160, 270, 126),
    "12.0": ("RTX PRO 6000", 188, 96, 128), "12.1": ("GB10", 48, 120, 24),
}  # fmt: skip
FIXED = {  # by the major number: KiB of shared memory a block (opt-in) and a multiprocessor, threads of one
    9: (227, 228, 2048), 10: (227, 228, 2048), 12: (99, 100, 1536),
}  # fmt: skip
REGISTERS = 65536  # of a multiprocessor, and the most of a block


class Card:
    """The device's properties under torch's names. `chosen` and `unknown` are what was asked, and is no fact."""

    def __init__(self, sm):
        major, minor = map(int, sm.split("."))
        block, whole, threads = FIXED[major]
        name, multiprocessors, memory, cache = CARDS[sm]
        self.known = {
            "major": major, "minor": minor, "warp_size": 32, "name": f"NVIDIA {name}",
            "shared_memory_per_block": 48 * KIB, "shared_memory_per_block_optin": block * KIB,
            "shared_memory_per_multiprocessor": whole * KIB, "regs_per_multiprocessor": REGISTERS,
            "max_threads_per_multi_processor": threads, "max_threads_per_block": 1024,
        }  # fmt: skip
        self.of_the_card = {
            "multi_processor_count": multiprocessors, "total_memory": memory << 30, "L2_cache_size": cache << 20,
        }  # fmt: skip
        self.chosen: dict[str, int] = {}
        self.unknown: list[str] = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.of_the_card:
            return self.chosen.setdefault(name, self.of_the_card[name])
        if name not in self.known:
            self.unknown.append(name)
            raise AttributeError(f"what {name} of {self.known['name']} is, is not known here")
        return self.known[name]


@contextlib.contextmanager
def gpu(sm):
    """As if a GPU of compute capability `sm` ("9.0") were here, for all calls inside; gives its Card."""
    import torch

    card = Card(sm)
    torch.empty(1, device="meta").add(1)  # torch imports pieces at the first call: not while pretending
    with (
        replaced(torch.cuda, **_driver(torch, card)),
        replaced(torch, Generator=_generator(torch)),
        replaced(torch.version, cuda=torch.version.cuda or "13.0"),
        everywhere(torch),
    ):
        yield card


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


def _driver(torch, card) -> "dict[str, Any]":
    stream = SimpleNamespace(cuda_stream=0, device=torch.device("cuda", 0))
    answers = {
        "is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0,
        "get_device_name": card.name, "get_device_capability": (card.major, card.minor),
        "get_device_properties": card, "current_stream": stream, "synchronize": None,
        "is_current_stream_capturing": False,
    }  # fmt: skip
    said = {name: (lambda *_, value=value, **__: value) for name, value in answers.items()}
    return {**said, "device": lambda *_: contextlib.nullcontext()}


def _generator(torch):
    """Draws on the CPU and says that it is on the GPU."""

    class Generator(torch.Generator):  # type: ignore[misc, name-defined]
        device = property(lambda self: torch.device("cuda", 0))

        def __new__(cls, device=None):
            return super().__new__(cls, "cpu")

    return Generator
