# ruff: noqa
"""Its import fails against the new version, so nothing in it is reached there."""

from flashinfer import fp4_quantize
from flashinfer.decode import gone_soon  # forth missing


def use(x, s):
    fp4_quantize(x, s)  # forth missing
    return fp4_quantize(x, s, 16, False, True, False, True)  # forth missing # back shifts


def helper(x):
    return x
