"""What the worker does with tensors: poison, compare, hash; and a user's own kernel file as the guide has it."""

import re
from pathlib import Path

import pytest

from workbench.worker import check, poison, values

torch = pytest.importorskip("torch")
GUIDE = Path(__file__).parent.parent / "CONTRIBUTING.md"


def test_a_row_that_was_not_written_is_seen(zoo):
    found = {each.trial.case["how"]: each for each in zoo("unwritten", memory_mb=4000) if each.attempt}
    assert {how: str(result.outcome) for how, result in found.items()} == {
        "all": "ok", "all_but_a_row": "wrong", "nothing": "wrong", "bad_shape": "wrong", "other_names": "wrong",
    }  # fmt: skip
    assert "32 values are not finite" in found["all_but_a_row"].detail
    assert "nothing was written" in found["nothing"].detail
    assert "the reference has (64, 32)" in found["bad_shape"].detail
    assert "other" in found["other_names"].detail
    assert found["all"].median_us and not found["nothing"].time


def compare(got, wanted, tolerance=1e-2):
    return check.compare({"out": got}, {"out": wanted}, tolerance)


def test_one_bad_row_among_thousands_is_seen():
    wanted = torch.randn(4096, 64, generator=torch.Generator().manual_seed(0))
    got = wanted.clone()
    assert compare(got.bfloat16(), wanted)["right"]
    got[17] = wanted[18]
    facts = compare(got, wanted)
    assert not facts["right"]
    assert facts["where"] == "out, row 17"
    assert facts["total"] < 0.05  # what a whole-tensor error would have made of it


def test_rows_of_nearly_nothing_do_not_magnify_rounding():
    wanted = torch.randn(8, 64, generator=torch.Generator().manual_seed(0))
    wanted[3] *= 1e-6
    got = wanted + 1e-5
    assert compare(got, wanted)["right"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_never_right(bad):
    wanted = torch.ones(4, 4)
    got = wanted.clone()
    got[0, 0] = bad
    assert not compare(got, wanted, tolerance=1e9)["right"]
    wanted[0, 0] = bad  # not even where the reference is so too
    assert not compare(got, wanted, tolerance=1e9)["right"]


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), ()])
def test_odd_shapes_are_compared(shape):
    assert compare(torch.ones(shape), torch.ones(shape))["right"]


def test_poison_reaches_views_that_are_not_contiguous():
    whole = torch.zeros(4, 6)
    poison.fill(whole[:, ::2])
    assert poison.untouched([whole[:, ::2]]) > 0.4


def test_the_hash_of_inputs_follows_values_shape_and_type():
    one = values.digest({"x": torch.arange(6.0)})
    assert one == values.digest({"x": torch.arange(6.0)})
    others = [
        torch.arange(6.0) + 1,
        torch.arange(6.0).reshape(2, 3),
        torch.arange(6),
        [torch.arange(6.0)] * 2,
    ]
    assert one not in {values.digest({"x": other}) for other in others}


def test_tensors_are_found_in_containers_and_objects():
    class Holder:
        def __init__(self):
            self.inner = {"a": [torch.ones(1)], "b": (torch.ones(2), None, "text")}

    assert [values.size(found) for found in values.tensors(Holder())] == [4, 8]


def test_the_kernel_of_the_guide_works(zoo, tmp_path):
    (code,) = re.findall(r"```python\n(.+?)```", GUIDE.read_text(), re.DOTALL)
    assert len(code.splitlines()) <= 35
    file = tmp_path / "softmax.py"
    file.write_text(code.replace('"cuda"', '"cpu"').replace("8192", "64"))
    results = zoo(str(file.with_suffix("")), memory_mb=4000)
    assert {str(each.outcome) for each in results if each.attempt} == {"ok"}


def test_a_worker_stays_warm_though_a_trial_has_imported_torch(zoo):
    imports = [each.stages["import"] for each in zoo("unwritten", memory_mb=4000) if each.attempt]
    assert imports[0] > 0.2
    assert max(imports[1:]) < 0.1
