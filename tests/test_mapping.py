"""The driver's calls, against a library that only takes notes."""

import ctypes
import weakref
from types import SimpleNamespace

import pytest

from workbench.worker import mapping

PAGE = 4096


class FakeLibrary:
    """Keeps account of what is reserved, created and mapped; refuses one call by name."""

    def __init__(self, refuses=""):
        self.refuses, self.now, self.calls = refuses, {"reserved": 0, "handles": 0, "mapped": 0}, {}

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return self.calls.setdefault(name, self._call(name))

    def _call(self, name):
        changes = {
            "cuMemAddressReserve": ("reserved", 1), "cuMemAddressFree": ("reserved", -1),
            "cuMemCreate": ("handles", 1), "cuMemRelease": ("handles", -1),
            "cuMemMap": ("mapped", 1), "cuMemUnmap": ("mapped", -1),
        }  # fmt: skip

        def call(*arguments):
            if name == self.refuses:
                return 2
            if name in changes:
                self.now[changes[name][0]] += changes[name][1]
            if name == "cuMemAddressReserve":
                arguments[0]._obj.value = 100 * PAGE
            if name == "cuMemGetAllocationGranularity":
                arguments[0]._obj.value = PAGE
            if name == "cuGetErrorName":
                arguments[1]._obj.value = b"CUDA_ERROR_OUT_OF_MEMORY"
            return 0

        return call


def test_room_has_a_hole_on_both_sides_and_goes_back_whole(monkeypatch):
    library = FakeLibrary()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    made = mapping.Memory(SimpleNamespace(index=0))
    assert made.take(PAGE + 1) == (101 * PAGE, 103 * PAGE)
    assert library.now == {"reserved": 1, "handles": 0, "mapped": 1}
    assert made.holds(103 * PAGE - 1) and not made.holds(103 * PAGE)
    held = mapping.Bytes(102 * PAGE, 8)
    made.handed.append(weakref.ref(held))
    made.give_back()  # a library has kept a tensor: it must stay
    assert library.now["mapped"] == 1
    del held
    made.give_back()
    assert library.now == {"reserved": 0, "handles": 0, "mapped": 0} and not made.rooms


@pytest.mark.parametrize("call", ["cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess"])
def test_a_refused_call_says_so_and_leaves_nothing_behind(monkeypatch, call):
    library = FakeLibrary(refuses=call)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    made = mapping.Memory(SimpleNamespace(index=0))
    with pytest.raises(mapping.Refused, match=f"{call}: CUDA_ERROR_OUT_OF_MEMORY"):
        made.take(1)
    assert library.now == {"reserved": 0, "handles": 0, "mapped": 0}


def test_the_driver_structures_have_the_sizes_of_its_header():
    assert [ctypes.sizeof(each) for each in (mapping.Allocation, mapping.Access)] == [32, 12]


def test_a_machine_without_a_driver_says_so(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(mapping.Refused, match=r"libcuda.so.1: cannot open"):
        mapping.Driver()
