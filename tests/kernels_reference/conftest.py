"""What the tests of the kernels share: inputs on the CPU, a verdict, stand-ins with the real signatures."""

import inspect
import math
from types import SimpleNamespace

import pytest

from workbench.kernels import _draw
from workbench.worker import check


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    pytest.importorskip("torch").set_num_threads(1)  # the shapes are small; threads would only wait


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    monkeypatch.setattr(_draw, "device", lambda: pytest.importorskip("torch").device("cpu"))


@pytest.fixture
def right():
    """Whether the worker would call an answer right: `right(kernel, {"out": ...}, inputs)`."""

    def judged(kernel, got, inputs):
        return check.compare(got, kernel.reference(inputs), kernel.TOLERANCE)["right"]

    return judged


@pytest.fixture
def recording():
    """A function with the given parameters (text, as in the wheel) that keeps what it was called with."""

    def made(parameters, answer=None):
        scope = {"ActivationType": SimpleNamespace(Swiglu="Swiglu")}
        exec(f"def stated({parameters}): pass", scope)
        signature = inspect.signature(scope["stated"])

        def function(*args, **kwargs):
            assert not args, "arguments go by keyword"
            function.got = signature.bind(**kwargs).arguments
            return answer

        function.__signature__ = signature
        return function

    return made


@pytest.fixture
def broken_rows():
    """The same answer with one row not written: NaN, zeros, and stale (another row's values)."""

    def made(answer, row=0):
        flat = answer.reshape(-1, answer.shape[-1])
        for wrong in (math.nan, 0.0, flat[(row + 1) % len(flat)].clone()):
            changed = flat.clone()
            changed[row] = wrong
            yield changed.reshape(answer.shape)

    return made


@pytest.fixture
def placed():
    """Bytes of scales, put one by one at the address that the kernels' source states for a layout."""
    import torch

    def made(raw, layout):
        if layout == "linear":
            return raw
        tile = 8 if layout == "8x4" else 128
        rows, columns = -(-raw.shape[0] // tile) * tile, -(-raw.shape[1] // 4) * 4
        flat = torch.full((rows * columns,), 0xFF, dtype=torch.uint8)  # the padding is nobody's business
        for m, row in enumerate(raw.tolist()):
            for k, byte in enumerate(row):
                in_tile = m % 8 * 4 if tile == 8 else m % 32 * 16 + m % 128 // 32 * 4
                flat[((m // tile) * (columns // 4) + k // 4) * tile * 4 + in_tile + k % 4] = byte
        return flat.reshape(rows, columns)

    return made
