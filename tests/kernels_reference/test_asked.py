"""What every kernel promises and asks is what was written down: a change of it is made on purpose, or found."""

import json
from functools import cache

import pytest

torch = pytest.importorskip("torch")

import asked  # noqa: E402

from workbench import kernels, store  # noqa: E402

ANEW = "if it is meant: python tests/kernels_reference/asked.py --write"
SHOWN = 20
RESULTS = asked.FOLDER.parents[2] / "results"
# The worst error measured is up to 5.4 times below the tolerance (batch_prefill). More would tell less than what
# is measured allows; less would refuse a GPU that rounds once more.
ROOM = 6


@pytest.fixture(scope="module")
def records():
    return asked.drawn_records()


def test_every_kernel_has_a_record_and_every_record_a_file(records):
    assert set(asked.stored()) == set(records), ANEW
    assert set(kernels.names()) <= set(records)


@pytest.mark.parametrize("name", sorted(asked.stored()))
def test_what_is_promised_and_asked_is_what_was_written_down(records, name):
    found = list(asked.differences(asked.stored()[name], records.get(name, {})))
    assert not found, "\n".join([f"{name}, {len(found)} differences:", *found[:SHOWN], ANEW])


def test_a_file_is_written_as_it_is_read(records):
    for name, record in records.items():
        assert (asked.FOLDER / f"{name}.json").read_text() == asked.text(record) + "\n", ANEW


@cache
def worst_errors():
    """The largest error of an answer that was right, of each kernel that has such in results/."""
    worst = {}
    for file in store.files(RESULTS):
        for line in filter(None, file.read_bytes().splitlines()):
            if b'"outcome": "ok"' not in line:
                continue
            attempt = json.loads(line)
            name, error = attempt["trial"]["kernel"], attempt["check"].get("error")
            if attempt["outcome"] == "ok" and error is not None:
                worst[name] = max(worst.get(name, 0), error)
    return worst


def test_a_tolerance_lies_above_what_was_measured_and_not_far():
    measured = {name: error for name, error in worst_errors().items() if name in kernels.names()}
    assert len(measured) > 10, "the results are read"
    tolerances = {name: kernels.get(name).TOLERANCE for name in measured}
    wrong = {name: (error, tolerances[name]) for name, error in measured.items() if error > tolerances[name]}
    assert not wrong, "right answers would be wrong"
    far = {
        name: tolerances[name] / error for name, error in measured.items() if tolerances[name] > ROOM * error
    }
    assert not far, "times the worst error measured"


@pytest.mark.parametrize(
    "value, text",
    [
        (torch.arange(6).reshape(2, 3).T, "int64 [3, 2] strides [1, 3], 0 to 5"),
        (torch.full((2,), 1.702), "float32 [2], all 1.702"),
        (torch.tensor([-1.26, 3.0]).bfloat16(), "bfloat16 [2], -1.3 to 3"),
        (torch.tensor([float("nan")]), "float32 [1], all NaN"),
        (torch.tensor([float("nan"), 1, 2]), "float32 [3], NaN, 1 to 2"),
        (torch.tensor([1, 1 << 20]), "int64 [2]"),
        (torch.empty(0), "float32 [0]"),
        ((torch.bfloat16, None, 1.0), ["torch.bfloat16", None, 1.0]),
    ],
)
def test_a_value_is_told_by_what_it_is(value, text):
    assert asked.described(value) == text


def test_a_difference_is_told_with_its_place_and_both_values():
    was = {"CASES": ["a=1", "a=2"], "asked": {"a=1": {"1 f": {"x": None, "scale": 1.0}}}}
    now = {"CASES": ["a=1", "a=3"], "asked": {"a=1": {"1 f": {"x": None, "scale": 2.0, "more": 1}}}}
    assert list(asked.differences(was, now)) == [
        "CASES: gone is a=2",
        "CASES: new is a=3",
        "asked | a=1 | 1 f | scale: was 1.0, is 2.0",
        "asked | a=1 | 1 f | more: was nothing, is 1",
    ]
    assert not list(asked.differences(was, was))
