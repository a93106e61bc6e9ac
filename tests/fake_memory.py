"""Stands in for memory with holes around it where there is no GPU: ordinary memory, which stops nobody."""

import ctypes

from workbench.worker import placing

PAGE = 4096


class FakeMemory:
    """Looks like `mapping.Memory`."""

    def __init__(self):
        import torch

        self.device, self.rooms, self.blocks = torch.device("cpu"), [], []

    def take(self, size):
        import torch

        size = placing.up(size, PAGE)
        self.blocks.append(torch.zeros(size + PAGE, dtype=torch.uint8))
        low = placing.up(self.blocks[-1].data_ptr(), 64)
        self.rooms.append((low, low + size))
        return self.rooms[-1]

    def bytes(self, address, size):
        import torch

        return torch.frombuffer((ctypes.c_ubyte * size).from_address(address), dtype=torch.uint8)

    def holds(self, address):
        return any(low <= address < high for low, high in self.rooms)


def named(facts):
    """The tensors of a fence's fact by name."""
    return {each.pop("name"): each for each in facts["tensors"]}
