"""Device memory with a hole in the address space on both sides: CUDA's virtual memory calls, through ctypes.

What is reserved and not mapped belongs to nobody and is given to nobody, so that touching it is a fault.
"""

import contextlib
import ctypes
import functools
import gc
import weakref

PINNED, ON_DEVICE, READ_WRITE, RELAXED = 1, 1, 3, 2  # the driver's enums
_TEXT, _SIZE, _ADDRESS, _HANDLE, _FLAGS = (
    ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64,
)  # fmt: skip
CALLS = {
    "cuInit": (ctypes.c_uint,),
    "cuGetErrorName": (ctypes.c_int, _TEXT),
    "cuGetErrorString": (ctypes.c_int, _TEXT),
    "cuMemGetAllocationGranularity": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int),
    "cuMemAddressReserve": (ctypes.c_void_p, _SIZE, _SIZE, _ADDRESS, _FLAGS),
    "cuMemAddressFree": (_ADDRESS, _SIZE),
    "cuMemCreate": (ctypes.c_void_p, _SIZE, ctypes.c_void_p, _FLAGS),
    "cuMemRelease": (_HANDLE,),
    "cuMemMap": (_ADDRESS, _SIZE, _SIZE, _HANDLE, _FLAGS),
    "cuMemUnmap": (_ADDRESS, _SIZE),
    "cuMemSetAccess": (_ADDRESS, _SIZE, ctypes.c_void_p, _SIZE),
    "cuThreadExchangeStreamCaptureMode": (ctypes.c_void_p,),
}


class Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Allocation(ctypes.Structure):
    """CUmemAllocationProp: 32 bytes, of which we set the type and the place."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class Access(ctypes.Structure):
    _fields_ = (("location", Location), ("flags", ctypes.c_int))


class Refused(Exception):
    """The driver, or the lack of one, in its own words."""


class Driver:
    """The driver's calls by name. Raises Refused where one does not succeed."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
            for name, types in CALLS.items():
                getattr(self.library, name).argtypes = types
        except (OSError, AttributeError) as problem:
            raise Refused(f"this driver has no virtual memory calls: {problem}") from problem
        self("cuInit", 0)

    def __call__(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise Refused(f"{name}: {self._words(code)}")

    def _words(self, code):
        said = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            if getattr(self.library, name)(code, ctypes.byref(text)) == 0 and text.value:
                said.append(text.value.decode(errors="replace"))
        return ": ".join(said) or f"error {code}"


class Bytes:
    """A stretch of device memory as torch takes it in; alive as long as a tensor uses it."""

    def __init__(self, address, size):
        self.address = address
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class Memory:
    """Takes memory of one device between holes of a page, and gives back what no tensor uses any more."""

    def __init__(self, device):
        self.device, self.driver = device, Driver()
        self.place = Location(ON_DEVICE, device.index)
        self.kind = Allocation(PINNED, 0, self.place)
        self.rooms, self.handed = [], []
        page = ctypes.c_size_t()
        kind, minimum = ctypes.byref(self.kind), 0
        self.driver("cuMemGetAllocationGranularity", ctypes.byref(page), kind, minimum)
        self.page = page.value

    def take(self, size):
        """First address and end of new memory for at least `size` bytes; a whole number of pages."""
        size = -(-size // self.page) * self.page
        with self._even_in_a_capture():
            start = ctypes.c_uint64()
            self.driver("cuMemAddressReserve", ctypes.byref(start), size + 2 * self.page, 0, 0, 0)
            low = start.value + self.page
            try:
                self._map(low, size)
            except Refused:
                self.driver("cuMemAddressFree", start.value, size + 2 * self.page)
                raise
        self.rooms.append((low, low + size))
        return low, low + size

    def bytes(self, address, size):
        """A uint8 tensor of device memory, whoever took it."""
        import torch

        handed = Bytes(address, size)
        self.handed.append(weakref.ref(handed))
        with self._even_in_a_capture():
            return torch.as_tensor(handed, device=self.device)

    def holds(self, address):
        return any(low <= address < high for low, high in self.rooms)

    def give_back(self):
        """Unmap what no tensor uses. What a library has kept for itself stays until it lets go."""
        import torch

        if self.rooms:
            gc.collect()
            torch.cuda.synchronize(self.device)
        self.handed = [each for each in self.handed if each() is not None]
        used = [each.address for each in (known() for known in self.handed) if each is not None]
        for low, high in list(self.rooms):
            if not any(low <= address < high for address in used):
                self._unmap(low, high)

    def _map(self, address, size):
        handle = ctypes.c_uint64()
        self.driver("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(self.kind), 0)
        try:
            self.driver("cuMemMap", address, size, 0, handle, 0)
        finally:
            self.driver("cuMemRelease", handle)  # what is mapped stays until it is unmapped
        try:
            access = Access(self.place, READ_WRITE)
            self.driver("cuMemSetAccess", address, size, ctypes.byref(access), 1)
        except Refused:
            self.driver("cuMemUnmap", address, size)
            raise

    def _unmap(self, low, high):
        self.driver("cuMemUnmap", low, high - low)
        self.driver("cuMemAddressFree", low - self.page, high - low + 2 * self.page)
        self.rooms.remove((low, high))

    @contextlib.contextmanager
    def _even_in_a_capture(self):
        """A thread that captures a graph may allocate if it says that it knows what it does, as torch says."""
        mode = ctypes.c_int(RELAXED)
        self.driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        try:
            yield
        finally:
            self.driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))


@functools.cache
def _of(index):
    import torch

    return Memory(torch.device("cuda", index))


def here():
    """The memory of torch's current device, one a process. Raises Refused where it cannot be had."""
    import torch

    return _of(torch.cuda.current_device())


def give_back():
    """Unmap what the trial before this has left; costs nothing where no trial took any."""
    if _of.cache_info().currsize:
        here().give_back()
