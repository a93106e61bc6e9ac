"""Drift: what is read from wheels without importing them, against made-up wheels and, with a network, real ones."""

import argparse
import json
import sys
from pathlib import Path

import pytest
from made_wheels import NEW, OLD, old_and_new, wheel

from workbench.commands import drift as command
from workbench.drift import Library, drift, open_release
from workbench.drift.accepted import signatures
from workbench.drift.stated import claims, text
from workbench.drift.tree import open_tree


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return [Library(open_tree(each)) for each in old_and_new(tmp_path_factory.mktemp("wheels"))]


@pytest.fixture(scope="module")
def rows(pair):
    return drift(*pair)


def of(rows, function, change=None):
    return [each for each in rows if each.function.endswith(function) and change in (None, each.change)]


def two(tmp_path, old, new):
    """The rows between two versions of one file."""
    made = [
        wheel(tmp_path, version, {"__init__.py": each}, pins=("torch",))
        for version, each in (("1.0", old), ("2.0", new))
    ]
    return drift(*(Library(open_tree(each)) for each in made))


def test_an_inserted_parameter_says_what_a_positional_call_now_hits(rows):
    (row,) = of(rows, "fp4_quantize", "parameter_inserted")[:1]
    assert (row.function, row.parameter) == ("flashinfer.fp4_quantize", "is_global_scale_inversed")
    assert (row.index_from, row.index_to) == (None, 6)
    assert "positional argument 6 was enable_pdl, now is_global_scale_inversed" in row.detail
    (row,) = of(rows, "trtllm_fp4_block_scale_moe")
    assert (row.change, row.parameter, row.index_to) == ("parameter_inserted", "per_token_scale", 28)


def test_each_kind_of_change_is_found(pair, rows):
    kinds = {each.change for each in (*rows, *drift(*reversed(pair)))}
    assert kinds >= {
        "parameter_inserted",
        "parameter_renamed",
        "parameter_made_keyword_only",
        "default_changed",
        "function_removed",
        "function_moved",
        "function_added",
        "accepts_more",
        "pins_changed",
        "claims_changed",
        "kernel_source_identical",
        "kernel_source_changed",
        "options_hidden",
    }
    (row,) = of(rows, "run", "parameter_renamed")
    assert (row.parameter, row.detail) == ("kv_block_scales", "kv_block_scales became kv_cache_sf")
    (row,) = of(rows, "mm_fp4", "parameter_made_keyword_only")
    assert (row.parameter, row.index_from) == ("alpha", 2)
    (row,) = of(rows, "mm_fp4", "accepts_more")
    assert row.parameter == "skip_check"
    (row,) = of(rows, "mxfp4_quantize", "default_changed")
    assert row.detail == "default 'cuda' became 'auto'"
    assert of(rows, "decode.gone_soon", "function_removed")
    (row,) = of(rows, "TorchDistBackend", "function_moved")
    assert "now in flashinfer.comm.comm_backend" in row.detail
    assert "no longer found as flashinfer.comm.torch_backend.TorchDistBackend" in row.detail


def test_options_behind_kwargs_are_hidden_not_removed(rows):
    hidden = {each.parameter: each for each in of(rows, "Wrapper.plan", "options_hidden")}
    assert set(hidden) == {"pos_encoding_mode", "window_left", "logits_soft_cap"}
    assert hidden["window_left"].index_to == 8 and "accepted by keyword" in hidden["window_left"].detail
    assert not of(rows, "Wrapper.plan", "parameter_removed")
    assert [each.parameter for each in of(rows, "Wrapper.plan", "accepts_more")][-1] == "q_len_per_req"


def test_pins_and_sources(rows):
    pins = {each.parameter: each.detail for each in rows if each.change == "pins_changed"}
    assert pins == {
        "nvidia-cutlass-dsl": ">=4.4.2 became >=4.5.0",
        "cuda-python": "not required became >=12",
    }
    sources = {each.function: each.change for each in rows if each.change.startswith("kernel_source")}
    assert sources == {"xqa": "kernel_source_changed", "fp4_quantize": "kernel_source_identical"}


def test_the_other_way_round(pair):
    rows = drift(*reversed(pair))
    (row,) = of(rows, "flashinfer.fp4_quantize")
    assert row.parameter == "is_global_scale_inversed" and row.index_from == 6
    assert {each.parameter for each in of(rows, "Wrapper.plan", "options_shown")} >= {"window_left"}
    assert not drift(pair[0], pair[0], ["fp4_quantize"])


def test_functions_are_asked_for_by_their_ends(pair):
    asked = drift(*pair, ["fp4_quantize"])
    assert {each.function for each in asked} == {"flashinfer.fp4_quantize"}
    by_class = drift(*pair, ["BatchDecodeWithPagedKVCacheWrapper"])
    assert {each.function.rpartition(".")[2] for each in by_class} >= {"plan", "run"}
    assert drift(*pair, ["BatchDecodeWithPagedKVCacheWrapper.__init__"])[0].parameter == "jit_kwargs"
    with pytest.raises(ValueError, match="neither version has a function nowhere"):
        drift(*pair, ["nowhere"])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("def f(a, b): pass", "def f(b, a): pass", {"parameter_moved"}),
        ("def f(a): pass", "def f(a, b): pass", {"parameter_inserted"}),
        ("def f(a, b=1): pass", "def f(a, b): pass", {"parameter_made_required"}),
        ("def f(a): pass", "def f(a, /): pass", {"parameter_made_positional_only"}),
        ("def f(a): pass", "def f(a, *rest): pass", {"accepts_more"}),
        ("def f(a, **more): pass", "def f(a): pass", {"accepts_less"}),
        ("def f(a): pass", "def f(a, **more):\n    more.get('b')\n", {"accepts_more"}),
        ("X = 1\ndef f(a=X): pass", "X = 2\ndef f(a=X): pass", {"default_changed"}),
        ("def f(a): pass\ng = f", "def f(a, b=1): pass\ng = f", {"parameter_inserted"}),
        ("def f(a): pass", "def f(a):\n    return a + 1\n", set()),
        ("from torch import g\ndef f(a): pass", "def f(a): pass", set()),
    ],
)
def test_small_changes(tmp_path, old, new, expected):
    assert {each.change for each in two(tmp_path, old, new)} == expected


def test_a_decorator_nobody_can_read_is_a_doubt(tmp_path):
    made = wheel(tmp_path, "1.0", {"__init__.py": "from other import wrap\n\n@wrap\ndef f(a): pass\n"})
    library = Library(open_tree(made))
    (found,) = library.find("flashinfer.f")
    assert "wrap may change" in signatures(library, found).doubt


def test_claims_are_read_from_decorators(pair):
    found = [text(claims(each, each.find("flashinfer.mm_fp4")[0])) for each in pair]
    assert found == ["-", "cudnn:100+103+120+121"]


def test_where_names_lead(pair):
    old, new = pair
    assert old.find("flashinfer.fp4_quantize") == old.find("flashinfer.quantization.fp4.fp4_quantize")
    assert new.find("flashinfer.decode.gone_soon").why == "flashinfer.decode has no gone_soon"
    assert "cannot be imported" in new.find("flashinfer.broken.works").why
    assert new.find("flashinfer.__version__").foreign
    assert old.find("elsewhere.f").why == "no module elsewhere"


def test_lazy_names_and_star_imports(tmp_path):
    files = {
        "__init__.py": """
from .a import *

def __getattr__(name):
    if name == "late":
        from . import b
        return getattr(b, name)
    raise AttributeError
""",
        "a.py": "def early(x): pass\n",
        "b.py": "def late(x, y): pass\n",
    }
    library = Library(open_tree(wheel(tmp_path, "1.0", files)))
    for name, text_ in (("early", "(x)"), ("late", "(x, y)")):
        (found,) = library.find(f"flashinfer.{name}")
        assert signatures(library, found).text == text_
    assert library.find("flashinfer.never").why == "flashinfer has no never"


def test_the_command(tmp_path, capsys, pair):
    paths = [str(each.tree.root) for each in pair]
    assert run("--from", paths[0], "--to", paths[1], "--function", "fp4_quantize", "--json") == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert set(row) == {"function", "change", "parameter", "index_from", "index_to", "detail"}
    assert run("--from", paths[0], "--to", paths[0]) == 0
    assert (
        run("--from", "flashinfer==1.0", "--to", "flashinfer==2.0", "--wheels", str(Path(paths[0]).parent))
        == 1
    )
    assert "is_global_scale_inversed@6" in capsys.readouterr().out
    with pytest.raises(ValueError, match="cannot be read as a wheel"):
        (tmp_path / "bad-1.0-py3-none-any.whl").write_text("no zip")
        run("--from", str(tmp_path / "bad-1.0-py3-none-any.whl"), "--to", paths[1])


def test_an_unpacked_folder_is_the_same_as_its_wheel(tmp_path, pair):
    import zipfile

    with zipfile.ZipFile(pair[0].tree.root) as archive:
        archive.extractall(tmp_path)
    unpacked = Library(open_tree(tmp_path))
    assert not [each for each in drift(pair[0], unpacked) if each.change != "kernel_source_identical"]


def test_a_compiled_module_can_be_imported_and_not_be_read(tmp_path):
    files = {"__init__.py": "from ._C import fast\nfrom ._gone import slow\n", "_C.abi3.so": ""}
    library = Library(open_tree(wheel(tmp_path, "1.0", files)))
    assert (
        library.find("flashinfer.slow").why
        == "flashinfer cannot be imported: line 2: no flashinfer._gone.slow"
    )
    del files["__init__.py"]
    files["__init__.py"] = "from ._C import fast\n"
    library = Library(open_tree(wheel(tmp_path, "1.1", files)))
    assert "compiled" in library.find("flashinfer._C.fast").why
    assert not hasattr(library.find("flashinfer.fast"), "__len__")


def test_nothing_is_imported(pair):
    assert "flashinfer" not in sys.modules
    assert OLD["decode.py"] != NEW["decode.py"]


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args(arguments))


REAL = {  # function -> its rows between 0.6.8.post1 and 0.6.11.post1, told by the wheels' own signatures
    "fp4_quantize": [("parameter_inserted", "is_global_scale_inversed", 6)],
    "nvfp4_quantize": [
        ("parameter_inserted", "per_token_activation", 7),
        ("parameter_inserted", "expanded_idx_to_permuted_idx", 8),
    ],
    "trtllm_fp4_block_scale_moe": [("parameter_inserted", "per_token_scale", 28)],
    "create_allreduce_fusion_workspace": [("parameter_inserted", "group", 9)],
    "trtllm_batch_context_with_kv_cache": [("parameter_inserted", "causal", 23)],
    "mm_fp4": [("claims_changed", "", None)],
    "xqa": [],
    "interleave_moe_weights_for_sm90_mixed_gemm": [("function_added", "", None)],
}


def test_two_parameters_before_the_last_one(tmp_path):
    rows = two(tmp_path, "def f(x, stream):\n    pass\n", "def f(a, x, b, stream, c=1):\n    pass\n")
    said = {row.parameter: row.detail for row in rows if row.change == "parameter_inserted"}
    assert said["a"].startswith("a, before x, stream, required; positional argument 0 was x, now a")
    assert said["b"] == "b, before stream, required"
    assert said["c"] == "c=1, at the end, no positional argument moves"


def test_what_a_release_shows_besides(tmp_path):
    """Test helpers, another name of a method, and a function that the package itself shows now."""
    bodies = {
        "__init__.py": "",
        "testing/__init__.py": "from .timer import bench\n",
        "testing/timer.py": "def bench(f, times=1):\n    pass\n",
        "wrapper.py": "class Wrapper:\n    def plan(self, a):\n        pass\n\n    begin_forward = plan\n",
        "norm.py": "def gated(x):\n    pass\n",
    }
    later = bodies | {
        "__init__.py": "from .norm import gated\n",
        "testing/timer.py": "def bench(f, times=1, reduced=max):\n    pass\n",
        "wrapper.py": bodies["wrapper.py"].replace("self, a", "self, a, b"),
    }
    old, new = (
        Library(open_tree(wheel(tmp_path, *each, pins=()))) for each in (("1.0", bodies), ("2.0", later))
    )
    found = {(row.function, row.change, row.parameter) for row in drift(old, new)}
    assert ("flashinfer.testing.bench", "parameter_inserted", "reduced") in found
    assert ("flashinfer.wrapper.Wrapper.plan", "parameter_inserted", "b") in found
    assert not [row for row in found if "begin_forward" in row[0]]  # once is enough
    (row,) = drift(old, new, ["Wrapper.begin_forward"])
    assert (row.function, row.parameter) == ("flashinfer.wrapper.Wrapper.begin_forward", "b")
    (row,) = drift(old, new, ["gated"])
    assert row.change == "function_moved" and "now also found as flashinfer.gated" in row.detail


@pytest.mark.network
def test_real_wheels():
    old, new = (Library(open_release(f"flashinfer=={each}")) for each in ("0.6.8.post1", "0.6.11.post1"))
    rows = drift(old, new, list(REAL))
    for name, expected in REAL.items():
        found = [
            (each.change, each.parameter, each.index_to)
            for each in rows
            if each.function.endswith(f".{name}")
        ]
        assert found == expected, name


@pytest.mark.network
def test_options_that_a_real_release_hides():
    old, new = (Library(open_release(f"flashinfer=={each}")) for each in ("0.6.11.post1", "0.6.18.post1"))
    rows = drift(old, new, ["BatchDecodeWithPagedKVCacheWrapper.plan"])
    hidden = [each.parameter for each in rows if each.change == "options_hidden"]
    assert len(hidden) == 15 and not [each for each in rows if each.change == "parameter_removed"]


@pytest.mark.network
def test_triton_kernels_of_two_donors():
    spec = "triton_kernels@sglang-kernel==0.4.2.{}"
    wheels = Path(".wheels") if Path(".wheels").is_dir() else None
    old, new = (Library(open_release(spec.format(each), wheels=wheels)) for each in ("post1", "post2"))
    rows = drift(old, new)
    assert [each for each in rows if each.change == "function_removed" and each.function.endswith("routing")]
    assert [
        each for each in rows if each.change == "kernel_source_changed" and "_matmul_ogs" in each.function
    ]
