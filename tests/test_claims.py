"""Claims: asked from a made-up FlashInfer in a real interpreter; and the reports that stand beside them."""

import argparse
import json
import subprocess
import sys

import example_results as examples
import pytest
from test_doctor import SOUND, installed

from workbench import known_issues
from workbench.claims import SMS, claims
from workbench.claims.rows import condition
from workbench.commands import claims as command
from workbench.doctor import Fingerprint
from workbench.environments import build, parse
from workbench.results import Results
from workbench.store import save

PREDICATES = """
import functools


def supported(numbers):
    def decorator(f):
        f.is_compute_capability_supported = lambda cc: cc in numbers
        return f
    return decorator


def requirement(checks):
    def decorator(f):
        def has_backend(backend):
            return backend in checks

        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            raise SystemExit("nothing is called")

        wrapper.has_backend = has_backend
        wrapper.has_backend_choices = lambda: bool(checks)
        wrapper.is_backend_supported = lambda backend, cc=None: checks[backend].is_compute_capability_supported(cc)
        wrapper.is_compute_capability_supported = lambda cc: any(
            each.is_compute_capability_supported(cc) for each in checks.values()
        )
        return wrapper
    return decorator


@supported([100])
def _cutlass():
    pass


@supported([100, 103, 120, 121])
def _cudnn():
    pass


@requirement({"cutlass": _cutlass, "cudnn": _cudnn})
def mm_fp4(a, b, backend="auto"):
    pass


def fp4_quantize(x):
    pass
"""
FILES = {
    "__init__.py": PREDICATES,
    "compilation_context.py": """
class CompilationContext:
    def get_nvcc_flags_list(self, supported_major_versions=None):
        raise SystemExit("compiled")
""",
    "quantization/__init__.py": "",
    "quantization/fp4_quantization.py": """
def gen_fp4_quantization_sm90_module():
    raise SystemExit("built")


gen_fp4_quantization_sm100_module = gen_fp4_quantization_sm90_module


def get_fp4_quantization_module(backend="100"):
    modules = {"90": gen_fp4_quantization_sm90_module, "100": gen_fp4_quantization_sm100_module}
    if backend not in modules:
        raise ValueError(f"Invalid backend: {backend}")
    return modules[backend]().build_and_load()
""",
    "fused_moe/__init__.py": "from needs_something import more\n",
    "jit/__init__.py": "",
    "jit/comm.py": """
from ..compilation_context import CompilationContext


def gen_trtllm_comm_module():
    CompilationContext().get_nvcc_flags_list(supported_major_versions=[9, 10])
""",
    "gone.py": "",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interpreter")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    installed(site, "flashinfer_python", "1.0.0", "flashinfer")
    for name, text in FILES.items():
        (site / "flashinfer" / name).parent.mkdir(exist_ok=True)
        (site / "flashinfer" / name).write_text(text)
    return build(parse("here", str(folder / "bin" / "python")), folder=tmp_path_factory.mktemp("kept"))


def fingerprint(**facts):
    return Fingerprint({**SOUND, "packages": {"flashinfer-python": "1.0.0"}, "flashinfer": "", **facts})


def measured(reason, sm="9.0"):
    found = examples.one("fp4_quantize", {"tokens": 16}, examples.OLD, reason)
    found.provenance["environment"]["packages"] = {"flashinfer-python": "1.0.0+local"}
    found.provenance["gpu"]["sm"] = sm
    found.found["api"] = "flashinfer.fp4_quantize"
    return Results((found,))


def rows(built, results=Results(), **facts):  # noqa: B008 - never changed
    found = claims(built, fingerprint(**facts), results)
    return {(each.function.rpartition(".")[2], each.sm): each for each in found}


def test_predicates_are_asked_by_backend(built):
    found = rows(built)
    assert [found["mm_fp4", sm].exact for sm in SMS] == [False, True, True, True, True]
    assert found["mm_fp4", 103].detail == "backends: cudnn of cutlass, cudnn"
    assert found["mm_fp4", 90].how == "predicate"


def test_the_exact_rule_stands_beside_the_family_rule(built):
    found = rows(built)
    one = found["fp4_quantize", 103]
    assert (one.exact, one.family, one.how) == (False, True, "choice")
    assert one.detail == "a check of the family would say yes"
    assert (found["fp4_quantize", 90].exact, found["fp4_quantize", 121].exact) == (True, False)


def test_what_cannot_be_asked_is_not_stated(built):
    found = rows(built)
    assert found["cutlass_fused_moe", 90].exact is None
    assert found["cutlass_fused_moe", 90].said == "not stated"
    assert "cannot be imported here" in found["cutlass_fused_moe", 90].detail
    assert [found["allreduce_fusion", sm].exact for sm in SMS] == [True, True, True, False, False]


def test_a_claim_that_is_not_what_was_measured_stands_out(built):
    lie = rows(built, measured("wrong_numbers"))["fp4_quantize", 90]
    assert lie.stands_out and lie.measured == "measured on Example GPU A: 1 wrong"
    assert not rows(built, measured("ok"))["fp4_quantize", 90].stands_out
    assert rows(built, measured("ok", "12.1"))["fp4_quantize", 121].stands_out
    assert not rows(built, measured("missing_cubin"))["fp4_quantize", 90].stands_out


@pytest.mark.parametrize(
    ("artifacts", "variables", "exact", "family"),
    [
        ({"installed": "1.0.0"}, {}, True, True),
        ({"installed": "", "reachable": True}, {}, True, True),
        ({"installed": "", "reachable": False}, {}, False, False),
        ({"installed": "", "reachable": True, "download": False}, {}, False, False),
        ({"installed": "1.0.0"}, {"VLLM_BATCH_INVARIANT": "1"}, False, False),
    ],
)
def test_the_condition_of_serving_projects(artifacts, variables, exact, family):
    found = fingerprint(artifacts={**SOUND["artifacts"], **artifacts}, variables=variables)
    by_sm = {sm: condition(found, sm) for sm in SMS}
    assert (by_sm[100].exact, by_sm[100].family) == (exact, family)
    assert (by_sm[103].exact, by_sm[103].family) == (False, family)
    assert not any(by_sm[sm].family for sm in (90, 120, 121))


def test_the_command(built, tmp_path, capsys):
    save(measured("wrong_numbers").attempts[0], tmp_path / "one.jsonl")
    code = run("--python", str(built.python), "--sm", "90", "10.3", "--results", str(tmp_path), "--json")
    facts = json.loads(capsys.readouterr().out)
    assert code == 1
    assert {row["sm"] for row in facts} == {90, 103}
    assert set(facts[0]) >= {"function", "sm", "exact", "family", "how", "detail", "measured", "known_issues"}
    assert run("--python", sys.executable, "--results", str(tmp_path)) in (0, 1, 3)
    with pytest.raises(ValueError, match="say which"):
        run("--sm", "90")


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args(arguments))


def test_known_issues_follow_their_schema():
    found = known_issues.load()
    assert len(found) == 69
    assert all(each.sources and "#" in each.sources[0] for each in found)
    assert {each.id for each in found if not each.shown} == {"KI-023", "KI-065"}


def test_known_issues_are_matched_by_kernel_gpu_and_version():
    issues = known_issues.load()

    def ids(**wanted):
        return {each.id for each in known_issues.match(issues, **wanted)}

    zeros = dict(kernel="fp4_quantize", sm=120)
    assert "KI-003" in ids(**zeros, versions={"flashinfer-python": "0.6.12+cu130"})
    assert "KI-003" not in ids(**zeros, versions={"flashinfer-python": "0.6.13"})
    assert "KI-003" not in ids(kernel="fp4_quantize", sm=90)
    assert "KI-003" in ids(function="flashinfer.nvfp4_quantize", sm=120)
    assert "KI-035" not in ids(kernel="fp4_quantize")
    assert "KI-008" in ids(kernel="trtllm_moe", versions={})  # of a driver: no version rules it out


@pytest.mark.parametrize(
    "change",
    [
        {"reasons": ["never heard of"]}, {"sources": []}, {"sm": ["90"]}, {"state": "?"}, {"what": ""},
        {"confidence": "sure"}, {"packages": {"torch": "about 2"}}, {"surprise": 1},
        {"kernels": "fp4_quantize"}, {"sm": 90},
    ],
)  # fmt: skip
def test_a_broken_list_is_said(tmp_path, change):
    facts = json.loads(known_issues.FILE.read_text(encoding="utf-8"))
    facts["issues"] = [facts["issues"][0] | change]
    (tmp_path / "issues.json").write_text(json.dumps(facts))
    with pytest.raises(ValueError):
        known_issues.load(tmp_path / "issues.json")
