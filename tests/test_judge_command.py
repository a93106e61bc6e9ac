"""`workbench judge`: records in, one JSON line each out, and nothing read that would give the answer away."""

import json
from pathlib import Path

from workbench import cli

REPORTS = Path(__file__).parent / "cases" / "reports.json"


def judged(capsys, *files):
    assert cli.main(["judge", *map(str, files)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_record_has_its_line_and_its_class(tmp_path, capsys):
    records = json.loads(REPORTS.read_text())
    lines = judged(capsys, REPORTS)
    assert [line["id"] for line in lines] == [record["id"] for record in records]
    right = sum(line["class"] == record["expected"] for line, record in zip(lines, records, strict=True))
    assert right >= 0.95 * len(records)


def test_what_is_expected_is_not_read(tmp_path, capsys):
    (tmp_path / "a.json").write_text(
        json.dumps({"id": "x", "expected": "oom", "expected_class": "oom", "stderr": ""})
    )
    assert judged(capsys, tmp_path / "a.json")[0]["class"] != "oom"


def test_lines_and_lists_are_taken(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n\n{"id": 2}\n')
    assert [line["id"] for line in judged(capsys, tmp_path / "a.jsonl")] == [1, 2]


def test_bad_files_are_said(tmp_path, capsys):
    (tmp_path / "a.json").write_text("{torn")
    (tmp_path / "b.json").write_text("[5]")
    for name in ("a.json", "b.json", "none.json"):
        assert cli.main(["judge", str(tmp_path / name)]) == 2
        assert name in capsys.readouterr().err
