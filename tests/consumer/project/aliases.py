# ruff: noqa
import importlib
import sys

import flashinfer
from functools import partial
from flashinfer.quantization import fp4_quantize

bound = flashinfer.fp4_quantize
table = {"cuda": fp4_quantize, "other": None}
pair = (fp4_quantize, None)
lambda_ = lambda x, s: fp4_quantize(x, s, 16, False, True, False, True)  # forth shifts # back shifts
library = importlib.import_module("flashinfer.quantization")
half = partial(fp4_quantize, sf_vec_size=16)
filled = partial(fp4_quantize, None, None, 16, False, True, False)


def rebound(x, s):
    bound(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    f = fp4_quantize
    f(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    f = print
    f(x, s, 16, False, True, False, True)
    g, _ = pair
    g(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    table["cuda"](x, s, 16, False, True, False, True)  # forth shifts # back shifts
    library.fp4_quantize(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    getattr(flashinfer, "fp4_quantize")(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    sys.modules["flashinfer"].fp4_quantize(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    return (walrus := fp4_quantize)(x, s, 16, False, True, False, True)  # forth shifts # back shifts


def partials(x, s):
    half(x, s)
    half(x, s, 32)  # forth breaks # back breaks
    filled(True)  # forth shifts # back shifts
    filled(backend="cuda")
    partial(filled, True)("cuda")  # forth shifts # back shifts


def thin(x, *args, **kwargs):
    return fp4_quantize(x, *args, **kwargs)  # forth unknown # back unknown


def thinner(*args, **kwargs):
    return thin(*args, **kwargs)  # forth unknown # back unknown


def through(x, s):
    thin(x, s, 16, False, True, False)
    thin(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    thin(x, s, is_global_scale_inversed=True)  # back breaks
    thinner(x, s, 16, False, True, False, True)  # forth shifts # back shifts


def spread(x, s, unknown, options):
    fp4_quantize(*unknown)  # forth unknown # back unknown
    fp4_quantize(x, s, 16, False, True, False, *unknown)  # forth unknown # back unknown
    known = (x, s, 16, False, True, False, True)
    fp4_quantize(*known)  # forth shifts # back shifts
    fp4_quantize(x, **options)  # back unknown
    chosen = {"global_scale": s, "backend": "cuda"}
    fp4_quantize(x, **chosen)
    chosen["is_global_scale_inversed"] = True
    fp4_quantize(x, **chosen)  # back breaks
    perhaps = dict(global_scale=s)
    if s is None:
        perhaps["is_global_scale_inversed"] = True
    fp4_quantize(x, **perhaps)  # back unknown
    flashinfer.quantization.mxfp4_quantize(*unknown)


def wrapped(x, s, register):
    op = register(fp4_quantize)  # forth unknown # back unknown
    op(x, s, 16, False, True, False, True)  # forth unknown # back unknown
    register(fp4_quantize)  # forth unknown # back unknown
    getattr(flashinfer, x)  # forth unknown # back unknown
    getattr(flashinfer, x, "no name")  # forth unknown # back unknown
