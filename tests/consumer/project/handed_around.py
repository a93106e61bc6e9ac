# ruff: noqa
import functools
import importlib
from dataclasses import dataclass

import flashinfer
import torch
from flashinfer.quantization import fp4_quantize


def logged(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)

    return inner


def retried(times):
    def decorator(f):
        return lambda *args: f(*args)

    return decorator


def fixed(f):
    def inner(x, s):
        return f(x, s, 16, False, True, False, True)

    return inner


never_followed = fixed(fp4_quantize)  # forth unknown # back unknown
noted = logged(fp4_quantize)
again = retried(3)(flashinfer.fp4_quantize)
compiled = torch.compile(fp4_quantize, dynamic=True)
kept = functools.lru_cache(fp4_quantize)


def decorated(x, s):
    noted(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    again(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    compiled(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    kept(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    noted(x, s, is_global_scale_inversed=True)  # back breaks
    fp4_quantize.__wrapped__(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    noted(x, s)


def by_default(x, s, f=fp4_quantize, *, g=flashinfer.fp4_quantize, rest=()):
    f(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    g(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    f(x, s, 16, False, True, False, *rest)  # forth unknown # back unknown


class Layer:
    static = staticmethod(fp4_quantize)
    method = fp4_quantize
    layout = flashinfer.comm

    def __init__(self, f=fp4_quantize):
        self.f = f

    def use(self, x, s):
        self.static(x, s, 16, False, True, False, True)  # forth shifts # back shifts
        self.static(x, s, 16, False, True, False)
        self.method(s, 16, False, True, False, True)  # forth shifts # back shifts
        self.method(s, 16, False, True, False)
        self.f(x, s, 16, False, True, False, True)  # forth shifts # back shifts
        self.layout.allreduce_fusion(x, s, 1, False, x)  # forth shifts # back shifts
        type(self).static(x, s, 16, False, True, False, True)  # forth shifts # back shifts
        self.__class__.method(x, s, 16, False, True, False, True)  # forth shifts # back shifts


@dataclass
class Fields:
    f: object = fp4_quantize


def fields(x, s):
    Fields().f(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    Fields().f(x, s, 16, False, True, False)


class Callable:
    def __call__(self, x, *args, **kwargs):
        return fp4_quantize(x, *args, **kwargs)  # forth unknown # back unknown


def each_of_them(x):
    x[(yield)] = x
    yield fp4_quantize


def made(x, s):
    call = Callable()
    call(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    call(x, s, 16, False, True, False)
    for f in each_of_them(x):
        f(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    next(each_of_them(x))(x, s, 16, False, True, False, True)  # forth shifts # back shifts


def another(x, s, fp4_quantize):
    fp4_quantize(x, s, 16, False, True, False, True)
    try:
        return [flashinfer(x, s, 16, False, True, False, True) for flashinfer in x]
    except ValueError as noted:
        return noted(x, s, 16, False, True, False, True)


def asked_first(x, s):
    return one_of_two(x, s).shape


def one_of_two(x, s):
    if s:
        from flashinfer import fp4_quantize as chosen

        return chosen(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    if x:
        from elsewhere import chosen

        return chosen(x, s, 16, False, True, False, True)


def by_text(x, s):
    module = importlib.import_module(".quantization", package="flashinfer")
    module.fp4_quantize(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    module = importlib.import_module(".quantization", "flashinfer")
    module.fp4_quantize(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    mine = importlib.import_module(".aliases", __package__)
    mine.bound(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    globals()["noted"](x, s, 16, False, True, False, True)  # forth shifts # back shifts
    vars(flashinfer)["fp4_quantize"](x, s, 16, False, True, False, True)  # forth shifts # back shifts
    flashinfer.__dict__["fp4_quantize"](x, s, 16, False, True, False, True)  # forth shifts # back shifts
