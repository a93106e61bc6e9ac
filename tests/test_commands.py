"""What a user types, what comes back, and the exit code."""

import json
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import example_results as examples
import pytest

from workbench import planning
from workbench.commands import show
from workbench.progress import Progress
from workbench.results import Outcome, Result, Trial
from workbench.store import save

ZOO = Path(__file__).parent / "kernels"


def of_zoo(tmp_path, how, *more):
    cases = tmp_path / f"{how}.json"
    cases.write_text(f'[{{"how": "{how}", "place": 0}}]')
    return [
        "run", "--kernel-file", ZOO / "misbehaving.py", "--python", sys.executable, "--cases", cases,
        "--results", tmp_path / "r", "--effort", "quick", "--memory-mb", "700", *more,
    ]  # fmt: skip


def test_a_second_run_of_something_wrong_is_as_wrong(tmp_path, typed):
    assert typed(*of_zoo(tmp_path, "wrong"))[0] == 1
    code, out, _ = typed(*of_zoo(tmp_path, "wrong"))
    assert code == 1
    assert out.startswith("1 wrong (stored); 1 of 1 were stored already")
    code, out, _ = typed(*of_zoo(tmp_path, "wrong", "--json"))
    assert code == 1
    assert '"standing": {\n  "wrong": 1\n }' in out and '"outcomes": {}' in out


def test_nothing_ok_is_not_enough_data(tmp_path, typed):
    assert typed(*of_zoo(tmp_path, "refuses"))[0] == 3
    assert typed(*of_zoo(tmp_path, "right"))[0] == 0


@pytest.mark.parametrize(
    ("reasons", "code"),
    [
        (["ok"], 0),
        (["ok", "no_kernel_for_config"], 0),
        (["ok", "not_run"], 3),
        (["no_kernel_for_config", "component_missing"], 3),
        (["ok", "api_changed"], 1),
        (["ok", "not_run", "wrong_numbers"], 1),
    ],
)
def test_stored_results_are_judged_by_the_same_rule(tmp_path, typed, reasons, code):
    for place, reason in enumerate(reasons):
        save(examples.one("k", {"n": place}, "e", reason), tmp_path / "a.jsonl")
    assert typed("show", tmp_path)[0] == code


def test_what_is_said_twice_is_one_trial(tmp_path, typed):
    asked = of_zoo(
        tmp_path, "right", "--kernel-file", ZOO / "misbehaving.py", "--mode", "eager", "--mode", "eager"
    )
    (tmp_path / "right.json").write_text('[{"how": "right", "place": 0}, {"place": 0, "how": "right"}]')
    assert typed(*asked)[1].startswith("1 ok; 0 of 1 were stored already")


def test_two_kernels_of_one_name_are_not_one_kernel(tmp_path, typed):
    other = tmp_path / "misbehaving.py"
    other.write_text((ZOO / "misbehaving.py").read_text())
    code, _, err = typed(*of_zoo(tmp_path, "right", "--kernel-file", other))
    assert code == 2 and f"two kernels are named misbehaving: {ZOO / 'misbehaving.py'} and {other}" in err


def test_modes_are_validated(tmp_path, typed):
    save(Result(Trial("k", {}, "piecewise", "e", "g"), "r", Outcome.OK, "ok"), tmp_path / "a.jsonl")
    assert typed("show", tmp_path, "--mode", "piecewise")[0] == 0
    code, _, err = typed("show", tmp_path, "--mode", "grpah")
    assert (code, "there are eager, graph, eager+tuned" in err) == (2, True)
    code, _, err = typed(*of_zoo(tmp_path, "right", "--mode", "grpah"))
    assert (code, "no mode 'grpah'; there are eager, graph" in err) == (2, True)


def test_a_kernel_that_a_mode_drops_is_said(tmp_path, typed):
    other = tmp_path / "other.py"
    other.write_text((ZOO / "teardown.py").read_text().replace('("cpu",)', '("cuda",)'))
    files = ["--kernel-file", ZOO / "teardown.py", "--kernel-file", other]
    asked = ["run", *files, "--python", sys.executable, "--mode", "graph", "--dry-run"]
    code, out, err = typed(*asked)
    assert code == 0 and "1 trials" in out
    assert "left out: teardown on the CPU, where the mode is eager alone" in err


def test_a_filter_that_matches_nothing_says_what_there_is(tmp_path, typed):
    examples.written(tmp_path, examples.few())
    code, out, _ = typed("show", tmp_path, "--kernel", "cutlass_moe")
    assert code == 3
    there = "there are example_attention, example_quantize"
    assert re.match(rf"\d+ trials, none of kernel 'cutlass_moe'; {there}", out)


@pytest.mark.parametrize(
    ("typo", "like"),
    [
        ("example", "like it is example_attention, example_quantize"),
        ("mxfp4_swigly", "like it is mxfp4_swiglu.*"),
        ("nonsense", "there are .*example_attention.*trtllm_attention.*"),
    ],
)
def test_a_kernel_that_nobody_has_is_refused_with_those_like_it(tmp_path, typed, typo, like):
    examples.written(tmp_path, examples.few())
    for words in (("show", tmp_path), ("compare", tmp_path, "--baseline", "a", "--candidate", "b")):
        code, out, err = typed(*words, "--kernel", typo)
        assert (code, out) == (2, "") and re.search(rf"no kernel '{typo}'; {like}$", err, re.M), err


@pytest.mark.parametrize("option", ["--wheels", "--prebuilt"])
def test_a_folder_that_is_not_there_is_said_before_anything(tmp_path, typed, option):
    code, _, err = typed(*of_zoo(tmp_path, "right", option, tmp_path / "nowhere"))
    assert code == 2 and "no such folder" in err
    assert not (tmp_path / "r").exists()
    assert typed("stack", "sglang==0.5.12", "--wheels", tmp_path / "nowhere")[0] == 2


def test_forgotten_quotes_are_named(typed):
    code, _, err = typed("run", "--environment", "flashinfer==1", "triton_kernels@sglang-kernel==2")
    assert code == 2
    assert "stands in quotes" in err and "usage: workbench run" in err
    assert "in quotes" not in typed("run", "--nonsense")[2]


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ('[{"how": "right"}]', "lacks 'place'; its keys are how, place"),
        ('[{"how": "right", "place": 0, "size": 1}]', "has 'size'; its keys are how, place"),
        ('{"misbehavin": [{"how": "right", "place": 0}]}', "cases for 'misbehavin', which is not run"),
        ("how=right", "a file of cases is a list"),
        ("{}", "a file of cases is a list"),
    ],
)
def test_cases_are_refused_in_the_words_of_who_wrote_them(tmp_path, typed, cases, says):
    asked = of_zoo(tmp_path, "right")
    (tmp_path / "right.json").write_text(cases)
    code, _, err = typed(*asked)
    assert code == 2
    assert says in err and "TypeError" not in err


def test_a_unit_that_there_is_not_is_refused(tmp_path):
    (tmp_path / "k.py").write_text((ZOO / "teardown.py").read_text().replace('"bf16"', '"int8"'))
    with pytest.raises(ValueError, match="unit 'int8'; there are bf16, fp8, fp4, fp32"):
        planning.from_file(tmp_path / "k.py")


def test_trials_that_end_alike_are_one_line(capsys):
    progress = Progress(12)
    for place in range(8):
        progress.end("fp4 in X", f"eager, n={place}", "not run: no GPU here", "not_run")
    progress.end("fp4 in X", "eager, n=8", "ok, 5 us", "ok")
    progress.end("fp4 in Y", "eager, n=8", "ok, 5 us", "ok")
    progress.close()
    lines = [re.sub(r"  \(about .*", "", line) for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "[8/12] 8 trials of fp4 in X: not run: no GPU here",
        "[9/12] fp4 in X: eager, n=8: ok, 5 us",
        "[10/12] fp4 in Y: eager, n=8: ok, 5 us",
    ]


def test_no_time_is_foretold_from_a_few_trials(capsys, monkeypatch):
    progress = Progress(100)
    progress.since -= 50
    for place in range(6):
        progress.end("k in X", f"n={place}", f"ok, {place} us", "ok")
    progress.close()
    told = ["left)" in line for line in capsys.readouterr().err.splitlines()]
    assert told == [False] * 4 + [True] * 2


@pytest.mark.parametrize(("places", "left"), [(1, 5), (2, 305), (3, 605)])
def test_a_build_counts_once_for_each_kernel_in_the_time_left(capsys, monkeypatch, places, left):
    """300 s of building in the first trial, one second a trial."""
    progress = Progress(0)
    progress.expect(10, places)
    progress.since -= 305
    for place in range(5):
        progress.end("k in X", f"n={place}", f"ok, {place} us", "ok", 300.0 if place == 0 else 0.1)
    progress.close()
    assert f"(about {left} s left)" in capsys.readouterr().err


def test_a_run_tells_how_long_its_builds_took_and_in_how_many_places(tmp_path, typed, monkeypatch):
    text = (ZOO / "teardown.py").read_text() + "\n\ndef build():\n    import time\n\n    time.sleep(0.3)\n"
    (tmp_path / "k.py").write_text(text)
    told, end = [], Progress.end

    def heard(self, where, which, how, outcome, build_s=0.0):
        told.append((self.places, build_s >= 0.3))
        end(self, where, which, how, outcome, build_s)

    monkeypatch.setattr(Progress, "end", heard)
    asked = ["run", "--kernel-file", tmp_path / "k.py", "--python", sys.executable, "--mode", "eager"]
    typed(*asked, "--results", tmp_path / "r", "--effort", "quick", "--memory-mb", "700")
    assert told == [(1, True)]


def test_the_examples_of_stored_stacks_work(typed, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    examples_of = import_module("workbench.commands.stack").EXAMPLES
    (line,) = [line for line in examples_of.splitlines() if "--results" in line]
    code, out, err = typed(*shlex.split(line.partition("#")[0])[1:])
    assert code in (0, 1) and "package" in out, err


def test_pages_are_made_where_nothing_of_ones_own_is_stored_yet():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    assert "test -d results/local && echo --results results/local" in makefile


def test_without_a_command_there_is_the_list_of_them(typed):
    code, _, err = typed()
    assert code == 2 and "check" in err and "bisect" in err


def test_many_trials_are_counted_first_and_listed_if_asked(tmp_path, typed, monkeypatch):
    monkeypatch.setattr(show, "SHORT", 2)
    examples.written(tmp_path)
    code, out, _ = typed("show", tmp_path)
    assert code == 1 and out.startswith("66 trials: 52 ok") and "23 rows: --trials lists them" in out
    assert "Trials by kernel and outcome, Example GPU A" in out and "column 1" not in out
    assert len(typed("show", tmp_path, "--trials")[1].splitlines()) > 2 * len(out.splitlines())
    code, against, _ = typed("show", tmp_path, "--against")
    assert code == 1 and "hang_timeout" in against and "ok: ran" not in against
    listed = json.loads(typed("show", tmp_path, "--against", "--json")[1])
    assert listed and not {"ok", "not_run"} & {each["outcome"] for each in listed if not each["flaky"]}


def test_nothing_against_is_said(tmp_path, typed):
    save(examples.one("k", {"n": 1}, "a"), tmp_path / "a.jsonl")
    assert "nothing that is stored speaks against" in typed("show", tmp_path, "--against")[1]


@pytest.mark.parametrize(
    ("command", "absent"),
    [("bisect", ("--bundle", "--sm ", "--interleave", "--arms", "--cases", "--again")),
     ("check", ("--bundle", "--sm ", "--interleave", "--dry-run"))],
)  # fmt: skip
def test_options_that_mean_nothing_are_not_offered(typed, command, absent):
    _, out, _ = typed(command, "--help")
    assert not [option for option in absent if f"  {option}" in out]
    code, _, err = typed(command, "a", "b", absent[0].strip())
    assert code == 2 and "unrecognized arguments" in err
