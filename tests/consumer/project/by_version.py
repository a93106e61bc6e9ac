# ruff: noqa
from importlib.metadata import version
from importlib.util import find_spec

import flashinfer
from packaging.version import parse

NEW = parse(version("flashinfer-python")) >= parse("2.0")

if parse(flashinfer.__version__) < parse("2.0"):
    from flashinfer.decode import gone_soon  # forth missing

if find_spec("flashinfer.decode.nowhere"):
    from flashinfer.decode import nowhere  # forth missing # back missing

if NEW:

    def quantize(x, s):
        return flashinfer.fp4_quantize(x, s, is_global_scale_inversed=True)  # back unknown

else:

    def quantize(x, s):
        return gone_soon(x)  # forth missing


def left_early(x, s):
    if not NEW:
        return flashinfer.fp4_quantize(x, s)
    if s is None:
        return flashinfer.fp4_quantize(x, backend="cuda", is_global_scale_inversed=True)  # back unknown
    return flashinfer.fp4_quantize(x, s, is_global_scale_inversed=True)  # back unknown


def left_for_another_reason(x, s):
    if s is None:
        return None
    return flashinfer.fp4_quantize(x, s, is_global_scale_inversed=True)  # back breaks


def after(x):
    return flashinfer.mxfp4_quantize(x)
