# ruff: noqa
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING

import flashinfer
from flashinfer import fp4_quantize
from flashinfer.comm import create_workspace

try:
    from flashinfer.quantization import mxfp4_quantize, only_old  # forth missing
except ImportError:
    mxfp4_quantize = only_old = None

try:
    from flashinfer.comm.comm_backend import TorchDistBackend
except ImportError:
    from flashinfer.comm.torch_backend import TorchDistBackend

with suppress(ImportError):
    from flashinfer.decode import gone_soon as hidden  # forth missing
    from flashinfer.gemm import mm_fp4

if TYPE_CHECKING:
    from flashinfer.nowhere import Nothing

HAS_GROUP = "group" in inspect.signature(create_workspace).parameters


def use(x):
    mxfp4_quantize(x)  # forth missing
    only_old(x)  # forth missing
    hidden(x)  # forth missing
    mm_fp4(x, x)  # forth missing
    TorchDistBackend(group=None)
    fp4_quantize(x)


def tests(x):
    if HAS_GROUP:
        create_workspace(group=x)  # back unknown
    else:
        create_workspace()
    if hasattr(flashinfer.decode, "gone_soon"):
        flashinfer.decode.gone_soon(x)  # forth missing
    try:
        fp4_quantize(x, is_global_scale_inversed=True)  # back breaks
    except TypeError:
        fp4_quantize(x)


def later(x):
    from flashinfer.decode import gone_soon  # forth missing

    fp4_quantize(x)  # forth missing
    return gone_soon(x)  # forth missing


def module_gone(x):
    import flashinfer.comm.torch_backend  # forth missing

    return flashinfer.comm.torch_backend.TorchDistBackend()  # forth missing


def module_that_does_not_import(x):
    from flashinfer.broken import works  # forth missing

    return works(x)  # forth missing
