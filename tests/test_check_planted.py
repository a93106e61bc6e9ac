"""Proof by planted regressions: a small wheel, repacked with one change each, checked by the command a user types.

What is timed sleeps instead of computing: a wait is steady where two cores are shared. The planted slowdown is
50 % of one shape and the margin 15 %; 3 % is proved on a GPU (benchmarks/planted_wheels.py), not by a wall clock here.
"""

import importlib.util
import json
import sys
import zipfile
from pathlib import Path

import made_wheels
import pytest

from workbench import cli

ZOO = Path(__file__).parent / "kernels"
BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "planted_wheels.py"
MODULE = """
import os
import time

TICK_S = 0.0005


def work(size, scale=1.0):
    time.sleep(size * TICK_S)
    return [scale * (n + 1.0) for n in range(size)]


def rest(size, scale=1.0):
    time.sleep(size * TICK_S)
    return [scale * (n + 1.0) for n in range(size)]
"""
WORK = "def work(size, scale=1.0):\n"
PLANTED = {
    "base": ("", ""),
    "repack": ("", ""),
    "slower": (WORK, f"{WORK}    time.sleep(size * TICK_S / 2 if size == 8 else 0)\n"),
    "wrong": (WORK, f"{WORK}    scale = scale * (1.5 if size == 4 else 1.0)\n"),
    "crash": (WORK, f"{WORK}    os.abort() if size == 4 else None\n"),
    "signature": ("def rest(size, scale=1.0)", "def rest(size, factor=1.0)"),
}
NAMED = {
    "slower": [("planted_work", {"size": 8}, "slower", "ok")],
    "wrong": [("planted_work", {"size": 4}, "broken", "wrong")],
    "crash": [("planted_work", {"size": 4}, "broken", "crashed")],
    "signature": [("planted_rest", {"size": 2}, "broken", "missing")],
    "repack": [],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    for name, (old, new) in PLANTED.items():
        text = MODULE.replace(old, new) if old else MODULE
        made_wheels.make_wheel(folder, "planted", f"1.0+{name}", {"planted/__init__.py": text})
    (folder / "policy.toml").write_text("margin = 0.15\nslower_overall = 0.15\n")
    return folder


@pytest.fixture
def check(place, monkeypatch, capsys):
    monkeypatch.chdir(place)

    def run(candidate, *more):
        sides = (place / f"planted-1.0+{name}-py3-none-any.whl" for name in ("base", candidate))
        files = [
            word
            for name in ("planted_work", "planted_rest")
            for word in ("--kernel-file", ZOO / f"{name}.py")
        ]
        given = ["--python", sys.executable, "--wheels", place, "--policy", "policy.toml", "--results", "r"]
        how = ["--mode", "eager", "--quick", "--generations", "4", "--memory-mb", "700"]
        code = cli.main([str(word) for word in ("check", *sides, *files, *given, *how, *more)])
        return code, capsys.readouterr().out

    return run


@pytest.mark.slow
@pytest.mark.parametrize("planted", NAMED)
def test_exactly_what_was_planted_is_named(check, place, planted):
    code, out = check(planted, "--json")
    found = json.loads(out)
    (family,) = found["families"]
    named = [
        (each["kernel"], each["case"], each["word"], each["after"]["outcome"]) for each in family["deciding"]
    ]
    assert named == NAMED[planted], out
    assert (found["answer"], code) == (("HOLD", 1) if named else ("BUMP", 0))
    assert all(each["run_again"] for each in family["deciding"])
    assert sum(each["word"] in ("same", "not slower", "faster") for each in family["trials"]) == 4 - len(
        named
    )
    called = [each["function"] for each in found["reading"]["called"]]
    assert called == (["planted.rest"] * len(called) if planted == "signature" else [])
    assert bool(called) == (planted == "signature")
    stored = "".join(file.read_text() for file in (place / "r").rglob("*.jsonl"))
    assert "planted-1.0+base-py3-none-any.whl" in stored and f"{place}/planted-1.0" not in stored


def test_the_gpu_proof_plants_in_one_function_and_leaves_the_rest(tmp_path):
    """benchmarks/planted_wheels.py on a wheel like FlashInfer's: versions of their own, and one file that differs."""
    spec = importlib.util.spec_from_file_location("planted_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    body = "def trtllm_batch_decode_with_kv_cache(query, bmm1_scale):\n    if query:\n"
    body += f"{benchmark.HERE}        return f(bmm1_scale=bmm1_scale)\n"
    text = f"def f(bmm1_scale):\n    pass\n\n\n@flashinfer_api\n{body}\n@flashinfer_api\ndef g(bmm1_scale):\n    pass\n"
    files = {"flashinfer/decode.py": text, "flashinfer/other.py": "x = 1\n"}
    source = made_wheels.make_wheel(tmp_path, "flashinfer_python", "0.6.11.post1", files)
    benchmark.main(source, tmp_path / "out")
    changed = {}
    for name in benchmark.PLANTED:
        path = tmp_path / "out" / f"flashinfer_python-0.6.11.post1+{name}-py3-none-any.whl"
        with zipfile.ZipFile(path) as archive:
            changed[name] = archive.read("flashinfer/decode.py").decode()
            compile(changed[name], name, "exec")
            assert archive.read("flashinfer/other.py") == b"x = 1\n"
            (metadata,) = (each for each in archive.namelist() if each.endswith("METADATA"))
            assert f"Version: 0.6.11.post1+{name}\n" in archive.read(metadata).decode()
    assert changed["repack"] == text
    assert changed["signature"].count("bmm1_scaling") == 2 and "def g(bmm1_scale)" in changed["signature"]
    assert changed["slower"].count("k_cache") == 2 and len(set(changed.values())) == len(changed)
    with pytest.raises(ValueError, match="no place for"):
        benchmark.planted(text.replace(benchmark.HERE, ""), *benchmark.PLANTED["crash"])
