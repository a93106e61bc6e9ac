"""Stands for the kernel's file and the trial; what a kernel does not say is taken from here."""

from typing import Any

API = "math.sqrt"
TOLERANCE = 0.0
VARIES: tuple[str, ...] = ()
CASE: dict[str, Any] = {}
SYMPTOM: tuple[str, ...] = ()  # all of these words, in what is seen
LIMIT_S = 1.0
EDGE = "end"  # of the fenced tensors
ONLY: tuple[str, ...] = ()  # of them, by name; all where none is named


def inputs(**case):
    return {}


def prepare(function, inputs):
    return function


def reference(inputs):
    return {}


def raw(result):
    """What the call has written."""
    return result


def outputs(result, inputs):
    return {"out": result}
