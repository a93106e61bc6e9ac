"""The built-in kernels as files of their own, in every mode: they hold together, and give what the kernels give."""

import ast
import importlib.util
import itertools
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from fake_memory import FakeMemory

from workbench import kernels, planning
from workbench.repro import script
from workbench.results import Outcome, Result, Trial
from workbench.worker import values

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
MODES = ("eager", "graph", "fenced", "fenced_start", "sanitized", "watched")
_EXPERTS = dict(tokens=6, experts=4, hidden=256, intermediate=128, top_k=2, routing="uniform")
CASES = {
    "cutedsl_masked_moe": dict(places=4, experts=2, hidden=128, intermediate=64, fill="ragged"),
    "cutedsl_moe": dict(_EXPERTS, ep_size=2, ep_rank=1),
    "cutedsl_moe_bf16": _EXPERTS,
    "cutlass_moe_fp8": dict(_EXPERTS, scheme="block"),
    "cutlass_moe_mxfp4": _EXPERTS,
    "cutlass_moe_mxfp8": _EXPERTS,
    "cutlass_moe_nvfp4": dict(_EXPERTS, scales="linear"),
    "trtllm_moe": dict(_EXPERTS, experts=16, kind="deepseek_v3"),
    "trtllm_moe_mxfp4": dict(_EXPERTS, scheme="mxfp8"),
    "cutlass_moe": dict(tokens=6, experts=4, hidden=32, intermediate=16, top_k=2, routing="skewed"),
    "fp4_quantize": dict(tokens=5, hidden=64, layout="swizzled"),
    "mxfp4_swiglu": dict(tokens=6, experts=4, hidden=64, columns=32, top_k=2, routing="uniform"),
    "trtllm_attention": dict(
        batch=2,
        length=64,
        heads=8,
        kv_heads=2,
        head_dim=16,
        lengths="ragged",
        sinks=True,
        page=16,
        backend="auto",
    ),
    "mxfp4_quantize": dict(tokens=5, hidden=64, layout="8x4", backend="cuda"),
    "mxfp8_quantize": dict(tokens=5, hidden=64, layout="swizzled", backend="cuda"),
    "nvfp4_batched_quantize": dict(batch=2, tokens=5, hidden=64),
}
LAYER = dict(tokens=6, experts=4, intermediate=32, hidden=64, top_k=2, routing="uniform")
CASES.update(mxfp4_combine=LAYER, mxfp4_mlp=LAYER)
CASES["trtllm_attention_fp8"] = CASES["trtllm_attention"]
CASES["batch_decode"] = {
    name: value for name, value in CASES["trtllm_attention"].items() if name != "backend"
}
PREFILL = dict(batch=2, tokens=20, prefix=12, heads=8, kv_heads=2, head_dim=16, lengths="ragged", sinks=True)
PREFILL.update(window=9, page=16)
CASES.update(trtllm_prefill=PREFILL, fmha_v2_prefill=PREFILL, batch_prefill=dict(PREFILL, backend="fa3"))
CASES.update(trtllm_prefill_fp8=PREFILL, fmha_v2_prefill_fp8=PREFILL)
CASES["batch_prefill_fp8"] = dict(PREFILL, sinks=False, backend="fa3", scales="heads")
CASES["batch_prefill_fp8_cache"] = dict(PREFILL, sinks=False, backend="fa2")
MODULES = {name: kernels.get(name) for name in CASES}
EVERY = list(itertools.product(CASES, MODES))


@cache
def built_in(name):
    return planning.built_in(name, [CASES[name]])


@cache
def text(name, mode):
    allocated = {"fence": {"tensors": [{"name": "allocated[0]"}]}} if mode == "watched" else {}
    trial = Trial(name, CASES[name], mode.replace("watched", "fenced"), "here", "NVIDIA H200")
    result = Result(trial, "a run", Outcome.WRONG, "wrong_numbers", forensic=allocated)
    return script.write(result, built_in(name), "not tried: a test")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """`loaded(name, mode)`: the file as a module, its inputs on the CPU."""
    folder = tmp_path_factory.mktemp("files")

    def load(name, mode):
        file = folder / f"{name}_{mode}.py"
        file.write_text(text(name, mode), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        module.draw_device = lambda: torch.device("cpu")
        return module

    return load


def test_every_kernel_has_its_case_here():
    ranked = {name for name in kernels.names() if all("ranks" in case for case in kernels.get(name).CASES)}
    assert set(CASES) == set(kernels.names()) - ranked


def test_a_trial_of_several_ranks_has_no_file_and_says_so():
    trial = Trial("allreduce_fusion", {"ranks": 2}, "eager", "here", "NVIDIA H200")
    result = Result(trial, "a run", Outcome.WRONG, "wrong_numbers")
    with pytest.raises(ValueError, match="2 ranks"):
        script.write(result, planning.built_in("allreduce_fusion"), "not tried: a test")


def test_a_function_is_called_by_the_name_that_the_version_had():
    trial = Trial("mxfp4_swiglu", CASES["mxfp4_swiglu"], "eager", "here", "NVIDIA H200")
    for api, taken in (("triton_kernels.matmul.matmul", True), ("os.remove", False)):
        result = Result(trial, "a run", Outcome.WRONG, "wrong_numbers", found={"api": api})
        written = script.write(result, planning.built_in("mxfp4_swiglu"), "not tried: a test")
        assert (f'API = "{api}"' in written) is taken


@pytest.mark.slow
def test_the_files_are_clean(tmp_path):
    for name, mode in EVERY:
        (tmp_path / f"{name}_{mode}.py").write_text(text(name, mode), encoding="utf-8")
    # Not ours there: torch stays inside functions; and lines, which grow by the modules' names before their own.
    rules = ["--config", ROOT / "pyproject.toml", "--ignore", "TID253,E501"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", *rules, tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[:3000]


@pytest.mark.parametrize(("name", "mode"), EVERY)
def test_nothing_of_the_workbench_is_needed_and_nothing_is_idle(name, mode):
    tree = ast.parse(text(name, mode))
    nodes = list(ast.walk(tree))
    imports = [each for each in nodes if isinstance(each, ast.Import | ast.ImportFrom)]
    assert not any("workbench" in ast.unparse(each) or getattr(each, "level", 0) for each in imports)
    mentioned = {each.id for each in nodes if isinstance(each, ast.Name)}
    mentioned |= {each.attr for each in nodes if isinstance(each, ast.Attribute)}
    texts = {each.value for each in nodes if isinstance(each, ast.Constant)}
    for each in nodes:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            assert each.name in mentioned | texts, each.name
    assert len([each for each in tree.body if getattr(each, "name", "") == "attempt"]) == 1


@pytest.mark.parametrize("name", CASES)
def test_inputs_and_reference_are_the_kernels(loaded, name):
    ours, theirs = loaded(name, "eager"), MODULES[name]
    got, wanted = ours.inputs(**CASES[name]), theirs.inputs(**CASES[name])
    assert set(got) == set(wanted)
    for each, value in wanted.items():
        tensors = values.tensors(value)
        assert all(map(torch.equal, values.tensors(got[each]), tensors)) if tensors else got[each] == value
    answers, right = ours.reference(got), theirs.reference(wanted)
    assert all(torch.equal(answers[each], value) for each, value in right.items())


def test_an_answer_is_judged_as_the_worker_judges_it(loaded, right):
    file = loaded("cutlass_moe", "eager")
    data = file.inputs(**CASES["cutlass_moe"])
    answer = file.reference(data)["out"].bfloat16()
    for spoilt in (answer, answer * 1.01, answer * 1.03, answer.flip(0), answer * float("nan")):
        said = file.wrong(spoilt.clone(), data)
        assert (not said) == right(MODULES["cutlass_moe"], {"out": spoilt}, data), said


def attention(file, spoil=None):
    """A function that answers as the reference does, into `out`; with `spoil`, only that many requests."""

    def function(query, kv_cache, block_tables, seq_lens, bmm1_scale, out=None, sinks=None, **_):
        key, value = kv_cache
        named = dict(query=query, key=key, value=value, block_tables=block_tables, seq_lens=seq_lens)
        plain = dict(kv_scale=1.0, q_len=1, window=-1)
        answer = file.reference(dict(named, scale=bmm1_scale, sinks=sinks, **plain))["out"]
        out[: spoil or len(answer)] = answer[: spoil or len(answer)]

    return function


@pytest.fixture
def small(monkeypatch, loaded):
    """The attention file of a mode, with a workspace that a CPU can bear, and a function in the library's place."""

    def made(mode, spoil=None):
        file = loaded("trtllm_attention", mode)
        file.PAGED_WORKSPACE_BYTES = 1 << 16
        file.function = lambda: attention(file, spoil)
        memory = FakeMemory()
        file.mapping_here = lambda: memory  # one a process, as the real one
        return file

    return made


@pytest.mark.parametrize("mode", ["eager", "sanitized", "fenced", "fenced_start", "watched"])
def test_an_attempt_on_the_cpu(small, mode):
    assert small(mode).attempt() == ""
    assert small(mode, spoil=1).attempt().startswith("wrong: ")


def test_fenced_tensors_are_moved_and_only_those_asked_for(small, monkeypatch):
    file, moved = small("fenced"), []
    put = file.placing_Fence.put
    monkeypatch.setattr(
        file.placing_Fence, "put", lambda self, named: [put(self, named), moved.append(self.tensors)]
    )
    assert file.attempt() == ""
    assert "asked.query" in moved[0] and moved[0]["asked.query"]["gap_bytes"] == 0
    monkeypatch.setattr(file, "ONLY", ("asked.query",))
    file.attempt()
    assert set(moved[1]) == {"asked.query"}
