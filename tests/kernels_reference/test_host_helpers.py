"""Our codes, scales, orders and routing beside those of released FlashInfer wheels, on the CPU."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from workbench.environments import build, parse

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize(("version", "folded"), [("0.6.11.post1", False), ("0.6.18.post1", True)])
def test_the_librarys_own_helpers_say_the_same(tmp_path, monkeypatch, version, folded):
    pytest.importorskip("torch")
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    built = build(parse(f"flashinfer=={version}"), folder=tmp_path)
    words = [built.python, HERE / "host_helpers.py", HERE.parents[1]]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **built.variables})
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("scales_by_callers") is not folded
    assert len(found) == 6 and all(found.values()), found
