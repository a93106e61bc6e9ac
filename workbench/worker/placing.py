"""Moves tensors in place to the edge of memory that has a hole on both sides, and keeps account of it."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

from . import poison, reach

ALIGNMENT = 16  # bytes: what vector loads and TMA need
MOST_NAMED = 500  # tensors told by name
MOST_OTHERS = 20


@dataclass
class Fence:
    """What was put where. `memory` is a `mapping.Memory`, or looks like one.

    `only` names the tensors to fence; `reached` says which far ends of the inputs this case touches.
    """

    memory: Any
    edge: str
    only: Any = None
    alignment: int = ALIGNMENT
    reached: Any = None
    tensors: dict[str, Any] = field(default_factory=dict)
    not_fenced: list[Any] = field(default_factory=list)
    count: int = 0  # of what the call at hand has allocated

    def put(self, named, keep=True):
        """Move (name, tensor) pairs in place; those that overlap stay together. `keep` copies their values."""
        movable = []
        for name, tensor in named:
            why = why_not(tensor, self.memory.device)
            if why:
                self._leave(name, why)
            elif tensor.numel():
                movable.append(Part(name, tensor, *extent(tensor)))
        placed = {}
        for group in overlapping(movable):
            if self.only is None or any(part.name in self.only for part in group):
                placed.update(self._move(group, keep))
        self.tensors.update({part.name: placed[part.name] for part in movable if part.name in placed})

    def put_allocated(self, tensors, keep):
        named = [(f"allocated[{self.count + number}]", tensor) for number, tensor in enumerate(tensors)]
        self.count += len(named)
        self.put(named, keep)

    def _move(self, group, keep):
        """Gives the name of each and what is told of it."""
        first = min(part.first for part in group) // self.alignment * self.alignment
        size = max(part.end for part in group) - first
        low, high = self.memory.take(up(size, self.alignment))
        self.memory.bytes(low, high - low).fill_(poison.BYTE)
        address = place(low, high, size, self.edge, self.alignment)
        moved = self.memory.bytes(address, size)
        if keep:
            moved.copy_(self.memory.bytes(first, size))
        for part in group:
            begin = address + part.first - first
            rebase(part.tensor, moved, begin - address)
            gap = begin - low if self.edge == "start" else high - begin - part.bytes
            yield part.name, {"bytes": part.bytes, "gap_bytes": gap}

    def note_others(self, known):
        """Say which tensors are alive on the device and were not reached."""
        found = []
        for tensor in reach.others(known):
            with contextlib.suppress(Exception):  # a class may hide its device
                if tensor.device == self.memory.device and not self.memory.holds(tensor.data_ptr()):
                    found.append(f"{tensor.dtype} {tuple(tensor.shape)}")
        for name in found[:MOST_OTHERS]:
            self._leave(name, "alive, but not reached from the call")

    def _leave(self, name, why):
        entry = {"name": name, "why": why}
        if entry not in self.not_fenced:
            self.not_fenced.append(entry)

    def facts(self):
        """What is told as `forensic.fence`; `gap_bytes` of 0 is tight."""
        named = [{"name": name, **facts} for name, facts in self.tensors.items()]
        facts: dict[str, Any] = {"edge": self.edge, "alignment": self.alignment}
        facts.update(tensors=named[:MOST_NAMED], not_fenced=list(self.not_fenced))
        if len(named) > MOST_NAMED:
            facts["unnamed"] = len(named) - MOST_NAMED
        if self.only is not None:
            facts["only"] = list(self.only)
            unmet = [name for name in self.only if name not in self.tensors]
            facts["not_fenced"] += [{"name": name, "why": "no such tensor was met"} for name in unmet]
        if self.reached:
            facts["reached"] = self.reached
        return facts


@dataclass
class Part:
    """A tensor and the addresses that it uses."""

    name: str
    tensor: Any
    first: int
    end: int

    @property
    def bytes(self):
        return self.end - self.first


def extent(tensor):
    """Address of the first byte that the tensor uses, and of the one after its last."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))  # noqa: B905
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def overlapping(parts):
    """The parts in groups that share memory, whichever storages they come from."""
    groups: list[list[Part]] = []
    end = 0
    for part in sorted(parts, key=lambda part: (part.first, part.end)):
        if not groups or part.first >= end:
            groups.append([])
        groups[-1].append(part)
        end = max(end, part.end)
    return groups


def place(low, high, size, edge, alignment):
    """Where `size` bytes begin in the memory from low to high, as near to that edge as the alignment lets them."""
    return low if edge == "start" else high - up(size, alignment)


def up(size, alignment):
    return -(-size // alignment) * alignment


def why_not(tensor, device):
    """Why a tensor cannot be moved; empty where it can."""
    import torch

    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return f"it is a {type(tensor).__name__}, whose memory is its own affair"
    if tensor.device != device:
        return f"it is on {tensor.device}"
    if tensor.layout != torch.strided:
        return f"its layout is {tensor.layout}"
    if tensor.is_conj() or tensor.is_neg():
        return "it is a lazily changed view"
    return ""


def rebase(tensor, memory, offset):
    """Let the tensor, and whoever holds it, use `memory` (a uint8 tensor) from that byte on."""
    import torch

    step = offset // tensor.element_size()
    fresh = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    fresh.set_(memory.untyped_storage(), step, tensor.size(), tensor.stride())
    tensor.data = fresh  # and not tensor.set_, which a detached tensor may refuse
