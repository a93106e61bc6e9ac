# ruff: noqa
from flashinfer import fp4_quantize

try:
    from project.fails import helper
except ImportError:
    helper = None


def use(x):
    return fp4_quantize(x)
