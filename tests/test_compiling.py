"""Compile-only trials, from the command to the stored line, with Triton's real compiler and no GPU."""

import io
import re
import shutil
import sysconfig
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from workbench import cli
from workbench.results import Result
from workbench.store import load

pytest.importorskip("triton")
FILE = Path(__file__).parent / "kernels" / "compiling.py"
RUN = ["run", "--kernel-file", str(FILE), "--environment", "here"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where it is stored, and what the run said."""
    folder = tmp_path_factory.mktemp("compiling")
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(folder)
        assert cli.main([*RUN, "--sm", "90", "--sm", "sm_120", "--results", str(folder / "results")]) == 1
    return folder / "results", said.getvalue()


@pytest.fixture(scope="module")
def stored(ran: tuple[Path, str]) -> dict[tuple[str, str], Result]:
    found = load(ran[0])
    assert not found.problems
    return {(each.trial.case["what"], each.trial.gpu): each for each in found if each.attempt}


@pytest.mark.slow
@pytest.mark.parametrize("family", ["SM90", "SM120"])
def test_what_compiles_is_told_and_is_no_pass(stored: dict[tuple[str, str], Result], family: str) -> None:
    result = stored["copies", f"{family}, compiled only"]
    (kernel,) = result.forensic["compiled"]["kernels"]
    assert (result.outcome, result.trial.mode, result.time) == ("ok", "compiled", {})
    assert (kernel["name"], kernel["num_warps"], kernel["num_stages"]) == ("copies", 4, 4)
    assert kernel["does_nothing"] is False and kernel["instructions"] > 4 and kernel["spill_bytes"] == 0
    assert result.detail.startswith("compiled, not run: 1 kernel; ")
    assert "tensors without values" in result.forensic["compiled"]["faked"]
    assert "gpu" not in result.provenance


@pytest.mark.slow
def test_a_run_calls_nothing_ok_that_was_only_compiled(ran: tuple[Path, str]) -> None:
    *lines, last = ran[1].strip().splitlines()
    assert last.startswith("3 compiled, 3 failed, 4 not run, 2 wrong; 0 of 12 were stored already")
    assert any("copies: compiled, not run: 1 kernel; " in line for line in lines)
    assert not any(re.search(r"\bok\b", line) for line in (*lines, last))


@pytest.mark.slow
def test_a_kernel_that_writes_nothing_is_found_in_its_code(stored: dict[tuple[str, str], Result]) -> None:
    result = stored["writes_nothing", "SM90, compiled only"]
    assert (result.outcome, result.reason) == ("wrong", "does_nothing")
    assert (
        result.detail
        == "compiled, not run; 1 function writes nothing in any of its instances: writes_nothing"
    )


@pytest.mark.slow
def test_shared_memory_is_the_familys(stored: dict[tuple[str, str], Result]) -> None:
    """99 KiB a block on SM120, 227 KiB on SM90: the same kernel fits one of them."""
    fits = stored["multiplies", "SM90, compiled only"]
    (kernel,) = fits.forensic["compiled"]["kernels"]
    assert fits.outcome == "ok" and 99 * 1024 < kernel["shared_bytes"] <= 227 * 1024
    too_much = stored["multiplies", "SM120, compiled only"]
    assert (too_much.outcome, too_much.reason) == ("failed", "resource_exhausted")
    assert "101376" in too_much.detail


@pytest.mark.slow
def test_a_bare_assert_says_its_line(stored: dict[tuple[str, str], Result]) -> None:
    result = stored["asserts", "SM90, compiled only"]
    assert result.outcome == "failed"
    assert "assert properties.shared_memory_per_block_optin >= 2**30" in result.detail


@pytest.mark.slow
@pytest.mark.parametrize("what", ["asks_what_nobody_knows", "looks_at_values"])
def test_what_the_stand_in_may_have_caused_is_no_finding(
    stored: dict[tuple[str, str], Result], what: str
) -> None:
    result = stored[what, "SM120, compiled only"]
    assert (result.outcome, result.reason) == ("not_run", "not_run")
    assert result.detail.startswith("the stand-in for the GPU may be the cause: ")


@pytest.mark.slow
def test_without_an_sm_and_without_a_gpu_it_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a GPU here")
    monkeypatch.chdir(tmp_path)
    assert cli.main([*RUN, "--mode", "compiled", "--results", str(tmp_path / "results")]) == 3
    assert "say for which it is compiled, such as --sm 90" in load(tmp_path / "results").attempts[-1].detail


def test_an_sm_is_not_run_in_another_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*RUN, "--sm", "90", "--mode", "eager", "--dry-run"]) == 2
    assert "its mode is compiled" in capsys.readouterr().err


def test_a_family_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*RUN, "--sm", "75", "--dry-run"]) == 2
    assert "there is a stand-in for 90, 100, 103, 120, 121" in capsys.readouterr().err


def test_the_plan_names_what_it_is_compiled_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*RUN, "--sm", "SM121", "--sm", "10.3", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "| compiled | SM121, compiled only" in said and "| compiled | SM103, compiled only" in said


def test_tritons_disassembler_serves_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench import cuobjdump

    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert cuobjdump.find.__wrapped__().startswith(sysconfig.get_path("purelib"))
