# ruff: noqa
"""Never names the library."""

from .reexport import project_quantize, thin
from .wrappers import Backend


def use(x, s):
    project_quantize(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    thin(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    return Backend(x).made().run(x, x, kv_block_scales=x)  # forth breaks
