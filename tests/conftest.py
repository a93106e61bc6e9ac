"""What the tests share: commands as a user types them, and the zoo of misbehaving kernels, run for real on the CPU."""

import os
import sys
import time
from pathlib import Path

import pytest

from workbench import cli, environments, planning, runner
from workbench.store import load

os.environ["WORKBENCH_TESTS"] = f"{os.getpid()}-{time.time_ns()}"  # by which our processes are known
ZOO = Path(__file__).parent / "kernels"
LIMITS_S = {stage: 4.0 for stage in ("prepare", "first_call", "check", "time")}


def pytest_collection_modifyitems(items):
    """Files that hold slow tests come first, and the pages with them, so that no process is left alone with one."""
    slow = {item.path for item in items if item.path.suffix == ".ipynb" or item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def zoo(tmp_path):
    """Runs cases of a zoo kernel: `zoo("misbehaving", how=["hangs"])` -> its Results."""

    def run(name="misbehaving", how=None, results=tmp_path / "results", **options):
        chosen = planning.from_file(ZOO / f"{name}.py")
        cases = [case for case in chosen.cases if how is None or case.get("how") in how]
        chosen = planning.from_file(ZOO / f"{name}.py", cases)
        here = environments.parse("here", sys.executable)
        planned = planning.plan([chosen], [here], ["eager"], gpu=None)
        options = {"limits_s": LIMITS_S, "memory_mb": 700, "effort": "quick", "quiet": True, **options}
        run.summary = runner.run(planned, None, runner.Options(results=results, **options))
        return load(results)

    return run


@pytest.fixture
def typed(capsys):
    """Runs the command: `typed("show", "x")` -> exit code, stdout, stderr."""

    def run(*words):
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run
