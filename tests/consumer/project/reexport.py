# ruff: noqa
from flashinfer import fp4_quantize as project_quantize

from .aliases import thin
