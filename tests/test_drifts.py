"""Drift as a page shows it, from a stored file, and the file as the command stores it."""

import json
from pathlib import Path

import pytest
from made_wheels import old_and_new

from workbench import cli
from workbench.pages.drifts import MOST, Drift, file_of

BEFORE, AFTER = "flashinfer 0.6.8.post1", "flashinfer 0.6.11.post1"


def change(function: str, change: str, **more: object) -> dict[str, object]:
    return {
        "function": function, "change": change, "parameter": "", "index_from": None, "index_to": None,
        "detail": "", **more,
    }  # fmt: skip


CHANGES = [
    change("flashinfer.fp4_quantize", "parameter_inserted", parameter="inverse", index_to=6, detail="shifts"),
    change("flashinfer.moe.Wrapper.run", "parameter_removed", parameter="x", index_from=2, detail="<b>gone</b>"),
    change("flashinfer.nvfp4_quantize", "function_added", detail="flashinfer.nvfp4_quantize(a)"),
    change("flashinfer-python", "pins_changed", parameter="nvidia-cutlass-dsl", detail=">=4.4.2 became >=4.5.0"),
    change("flashinfer.mm_fp4", "claims_changed", detail="cudnn:100 became cudnn:100+120"),
    change("fp4_quantize", "kernel_source_changed", detail="6 of 23 files"),
    change("xqa", "kernel_source_identical", detail="25 files, byte for byte"),
]  # fmt: skip


@pytest.fixture
def drift(tmp_path: Path) -> Drift:
    file_of(tmp_path, BEFORE, AFTER).write_text(json.dumps(CHANGES))
    return Drift(str(tmp_path), BEFORE, AFTER)


def test_functions_are_shown_first_by_their_ends(drift: Drift) -> None:
    shown = drift.of(["fp4_quantize", "Wrapper.run"])
    assert [row[0] for row in shown.rows] == ["flashinfer.fp4_quantize", "flashinfer.moe.Wrapper.run"]
    assert shown.rows[0][1:] == ("parameter inserted", "inverse", "6", "shifts")
    assert "&lt;b&gt;gone&lt;/b&gt;" in shown._repr_html_() and "<b>gone" not in shown._repr_html_()


def test_the_rest_is_counted_and_never_twice(drift: Drift) -> None:
    assert drift.counts(["fp4_quantize"]).rows == [("parameter removed", "1"), ("function added", "1")]


def test_pins_claims_and_sources_have_their_own_tables(drift: Drift) -> None:
    assert [row[2] for row in drift.pins().rows] == ["nvidia-cutlass-dsl"]
    assert [row[0] for row in drift.claims().rows] == ["flashinfer.mm_fp4"]
    assert [row[:2] for row in drift.sources().rows] == [
        ("fp4_quantize", "kernel source changed"),
        ("xqa", "kernel source identical"),
    ]
    assert "place" not in drift.pins().heads


def test_no_difference_is_said(drift: Drift) -> None:
    assert repr(drift.of(["matmul_ogs"])) == "No difference."


def test_what_is_not_stored_says_how_to_make_it(drift: Drift) -> None:
    missing = Drift(drift.folder, BEFORE, "flashinfer 9")
    said = repr(missing.of(["fp4_quantize"]))
    assert "workbench drift --from flashinfer==0.6.8.post1 --to flashinfer==9 --save DIR" in said
    assert "flashinfer-0.6.8.post1-to-flashinfer-0.6.11.post1" in said
    assert "Nothing is stored" in missing.sources()._repr_html_()


def test_a_long_table_is_cut_and_says_so(tmp_path: Path) -> None:
    many = [change(f"f{number}", "claims_changed") for number in range(MOST + 3)]
    file_of(tmp_path, BEFORE, AFTER).write_text(json.dumps(many))
    assert "and 3 more rows" in repr(Drift(str(tmp_path), BEFORE, AFTER).claims())


def test_a_file_that_is_no_drift_is_refused(tmp_path: Path) -> None:
    file_of(tmp_path, BEFORE, AFTER).write_text('{"function": "f"}')
    with pytest.raises(ValueError, match="is no list of changes"):
        Drift(str(tmp_path), BEFORE, AFTER).pins()


def test_the_command_stores_what_the_page_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = map(str, old_and_new(tmp_path))
    folder = tmp_path / "drift"
    assert cli.main(["drift", "--from", old, "--to", new, "--save", str(folder), "--json"]) == 1
    listed = json.loads(capsys.readouterr().out)
    (file,) = folder.glob("*.json")
    assert json.loads(file.read_text()) == listed
    before, after = file.stem.split("-to-")
    shown = Drift(str(folder), before.replace("flashinfer-", "flashinfer "), after).of(["fp4_quantize"])
    assert any("inserted" in row[1] for row in shown.rows)
