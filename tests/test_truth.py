"""The comparison of timers, as far as it needs no GPU: what tools wrote, read and joined."""

import pytest

from benchmarks.truth import __main__ as truth
from benchmarks.truth import calls, cupti, ncu, nvbench, rows, timers
from benchmarks.truth.joining import NOT_TOLD, joined
from workbench.pages import stopwatches

HEAD = (
    '"ID","Process ID","Kernel Name","Block Size","Section Name","Metric Name","Metric Unit","Metric Value"'
)
COLUMNS = {"timers": ("ours",), "cupti": ("cupti-python",), "ncu": ("ncu",)}


def kernel(name, value, unit="ns"):
    return f'"0","77","{name}","(1, 1, 1)","Command line profiler metrics","gpu__time_duration.sum","{unit}","{value}"'


def of_ncu(*calls):
    lines = [kernel(*each) for call in calls for each in (("mark", "1,504"), *call)]
    return "\n".join(["==PROF== Connected to process 77", HEAD, *lines, "==PROF== Disconnected"])


def test_ncu_adds_up_the_kernels_of_a_call_and_takes_the_median_of_its_calls():
    two = [("void gemm<float, 4>(T1 *)", "10,240"), ("split", "1,000")]
    text = of_ncu(two, two, [("gemm", "90,000")], [], [], [])
    assert ncu.read(text, ["two kernels", "copy"]) == [
        {"call": "two kernels", "ncu": 11.24},
        {"call": "copy", "ncu": "no kernel: ncu does not see copies"},
    ]


def test_ncu_that_lost_a_call_gives_nothing():
    with pytest.raises(ValueError, match="2 of 3 calls"):
        ncu.read(of_ncu([("a", "1")], [("a", "1")]), ["a"])


def state(**summaries):
    tags = {"gpu_mean": "nv/cold/time/gpu/mean", "gpu_median": "nv/cold/time/gpu/median"}
    found = [{"tag": tags[name], "data": [{"name": "value", "value": at}]} for name, at in summaries.items()]
    return {"name": "Device=0", "is_skipped": False, "summaries": found}


def test_nvbench_gives_its_median_or_its_mean_or_why_it_has_none():
    skipped = {"is_skipped": True, "skip_reason": "it raised", "summaries": None}
    states = {
        "a": state(gpu_mean="2e-05", gpu_median="1.3e-05"),
        "b": state(gpu_mean="0.000002"),
        "c": skipped,
    }
    stored = {"benchmarks": [{"name": name, "states": [each]} for name, each in states.items()]}
    assert [row[nvbench.NAME] for row in nvbench.read(stored)] == [13.0, 2.0, "it raised"]


def test_tools_are_joined_by_call_and_one_that_failed_leaves_its_words_in_its_own_column():
    told = {
        "timers": [{"call": "a", "ours": 3.6}, {"call": "b", "ours": 9.0}],
        "cupti": [{"reader": "cupti-python", "first_ms": 9.0}, {"reader": "cupti-python", "call": "a", "span_us": 3.5}],
        "ncu": [],
    }  # fmt: skip
    found = joined(COLUMNS, told, {"ncu": "exit 1: no permission"})
    assert found["rows"] == [
        {"call": "a", "ours": 3.6, "cupti-python": 3.5, "ncu": "exit 1: no permission"},
        {"call": "b", "ours": 9.0, "cupti-python": NOT_TOLD, "ncu": "exit 1: no permission"},
    ]
    assert [row["reader"] for row in found["readers"]] == ["cupti-python"] * 2


def test_rows_are_read_as_far_as_they_are_whole(tmp_path):
    rows.write(tmp_path / "tool", {"call": "a"})
    with (tmp_path / "tool").open("a") as file:
        file.write('{"call": "torn')
    assert rows.read(tmp_path / "tool") == [{"call": "a"}]
    assert rows.read(tmp_path / "none") == []
    assert rows.tried("theirs", lambda: 1 / 0) == {"theirs": "ZeroDivisionError: division by zero"}


def test_the_file_is_written_whatever_the_tools_do(tmp_path, monkeypatch):
    monkeypatch.setattr(truth, "LIMITS_S", {"calls": 20})  # a part that is no tool, and does nothing
    monkeypatch.setattr(calls, "COLUMNS", ("ours",), raising=False)
    assert truth.main(str(tmp_path), tmp_path / "truth.json") == 2
    assert '"rows": []' in (tmp_path / "truth.json").read_text()


def test_a_tool_that_cannot_start_says_why(tmp_path):
    assert "exit 1: " in (why := truth.run("not_there", "", tmp_path, 20)) and "not_there" in why


def test_every_timer_that_the_page_explains_is_asked_under_that_name():
    asked = {name for tool in (timers, cupti, nvbench, ncu) for name in tool.COLUMNS}
    assert set(stopwatches.READS) <= asked and stopwatches.CLOCK == timers.CLOCK
