"""The reading of wheels by which kernels are bound to each release: what of a function is written down, and when."""

import json

import made_wheels
import pytest

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


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.setattr(signatures, "FUNCTIONS", ("flashinfer.f",))
    monkeypatch.setattr(signatures, "ENUMS", ())
    return [
        made_wheels.make_wheel(
            tmp_path, "flashinfer_python", release, {"flashinfer/__init__.py": f"def f({said}): pass\n"}
        )
        for release, said in (("1.9", "x"), ("1.10", "x, y"))
    ]


def test_the_file_is_written_anew_with_the_releases_in_their_order(tmp_path, two):
    file = tmp_path / "s.json"
    signatures.main([*map(str, reversed(two)), "--into", str(file)])
    assert json.loads(file.read_text()) == {
        "releases": ["1.9", "1.10"], "functions": {"flashinfer.f": {"1.9": "x", "1.10": "x, y"}}, "enums": {},
    }  # fmt: skip


def test_releases_that_are_stored_are_not_lost_unasked(tmp_path, two, capsys):
    file = tmp_path / "s.json"
    signatures.main([*map(str, two), "--into", str(file)])
    before = file.read_text()
    with pytest.raises(SystemExit) as ended:
        signatures.main([str(two[1]), "--into", str(file)])
    assert ended.value.code == 2 and file.read_text() == before
    assert "would be lost: 1.9; give" in capsys.readouterr().err
    signatures.main([str(two[1]), "--into", str(file), "--fewer"])
    assert json.loads(file.read_text())["releases"] == ["1.10"]


def test_what_fails_in_between_leaves_the_file(tmp_path, two):
    file = tmp_path / "s.json"
    signatures.main([*map(str, two), "--into", str(file)])
    before = file.read_text()
    two[1].write_bytes(b"no wheel")
    with pytest.raises(Exception, match=r"zip|wheel"):
        signatures.main([*map(str, two), "--into", str(file)])
    assert file.read_text() == before
