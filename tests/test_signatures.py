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


def test_what_may_be_left_out_what_is_by_keyword_and_what_is_behind_options_is_written(tmp_path, monkeypatch):
    names = [f"flashinfer.{each}" for each in ("quantize", "wrapped", "open_ended", "absent")]
    monkeypatch.setattr(signatures, "FUNCTIONS", names)
    wheel = made_wheels.make_wheel(tmp_path, "flashinfer_python", "1.0", {"flashinfer/__init__.py": TEXT})
    stated = list(signatures.of_release(wheel).values())
    assert stated == [
        "x, scale=..., *, layout=...",
        "x, *, layout=..., scale=...",
        "x, *rest, **options",
        None,
    ]


def test_a_release_is_written_where_it_differs_from_the_one_before():
    stated = {"1": "x", "2": "x", "3": None, "4": "x", "5": "x, y"}
    assert signatures.changes(stated) == {"1": "x", "3": None, "4": "x", "5": "x, y"}
