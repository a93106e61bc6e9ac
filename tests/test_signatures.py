"""The reading of wheels by which kernels are bound to each release: what of a function is written down, and when."""

import made_wheels

from benchmarks import signatures

TEXT = """
def quantize(x, scale=None, *, layout="linear"):
    pass


def wrapped(x, **options):
    return quantize(x, **options)


def open_ended(x, *rest, **options):
    return options
"""
KINDS = """
from enum import IntEnum


class Kind(IntEnum):
    # what is said of it
    First = (0,)
    Second = 7

    def shown(self):
        name = "no member"
        return name
"""


def test_what_may_be_left_out_what_is_by_keyword_and_what_is_behind_options_is_written(tmp_path, monkeypatch):
    names = [f"flashinfer.{each}" for each in ("quantize", "wrapped", "open_ended", "absent")]
    monkeypatch.setattr(signatures, "FUNCTIONS", names)
    monkeypatch.setattr(signatures, "ENUMS", ())
    wheel = made_wheels.make_wheel(tmp_path, "flashinfer_python", "1.0", {"flashinfer/__init__.py": TEXT})
    stated = list(signatures.of_release(wheel).values())
    assert stated == [
        "x, scale=..., *, layout=...",
        "x, *, layout=..., scale=...",
        "x, *rest, **options",
        None,
    ]


def test_members_of_an_enumeration_are_written_with_their_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(signatures, "FUNCTIONS", ())
    monkeypatch.setattr(signatures, "ENUMS", ("flashinfer.Kind", "flashinfer.Absent"))
    files = {"flashinfer/kinds.py": KINDS, "flashinfer/__init__.py": "from .kinds import Kind\n"}
    wheel = made_wheels.make_wheel(tmp_path, "flashinfer_python", "1.0", files)
    assert list(signatures.of_release(wheel).values()) == ["First=0, Second=7", None]


def test_a_release_is_written_where_it_differs_from_the_one_before():
    stated = {"1": "x", "2": "x", "3": None, "4": "x", "5": "x, y"}
    assert signatures.changes(stated) == {"1": "x", "3": None, "4": "x", "5": "x, y"}
