import ast
import json
import sys
from pathlib import Path

import pytest

from workbench import kernels, planning

NAMES = kernels.names()


def test_names_are_the_files_of_the_folder_without_the_shared_pieces():
    folder = Path(kernels.__file__).parent
    assert sorted(path.stem for path in folder.glob("[!_]*.py")) == NAMES
    assert {"fp4_quantize", "mxfp4_swiglu", "trtllm_attention", "cutlass_moe"} <= set(NAMES)


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(LookupError, match="fp4_quantize"):
        kernels.get("fp5_quantize")


def test_a_file_of_the_user_is_read_anew_and_does_not_take_the_place_of_ours(tmp_path):
    file = tmp_path / "fp4_quantize.py"
    (tmp_path / "_mine.py").write_text("CASES = [dict(n=1)]\n")
    file.write_text("from . import _mine\nCASES = _mine.CASES\n")
    assert kernels.load_file(file).CASES == [{"n": 1}]
    file.write_text("CASES = []\n")
    assert kernels.load_file(str(file)).CASES == []
    assert len(kernels.get("fp4_quantize").CASES) > 1


def test_a_file_of_ours_is_the_kernel_itself():
    ours = kernels.get("fp4_quantize")
    assert kernels.load_file(ours.__file__) is ours


def test_a_missing_or_broken_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        kernels.load_file(tmp_path / "nothing.py")
    (tmp_path / "broken.py").write_text("CASES = [\n")
    with pytest.raises(SyntaxError):
        kernels.load_file(tmp_path / "broken.py")


@pytest.mark.parametrize("name", NAMES)
def test_each_kernel_keeps_the_contract(name):
    kernel = kernels.get(name)
    assert json.loads(json.dumps(kernel.CASES)) == kernel.CASES, "cases are plain JSON"
    assert len({json.dumps(case, sort_keys=True) for case in kernel.CASES}) == len(kernel.CASES)
    assert "." in kernel.API and 0 < kernel.TOLERANCE < 0.5
    for case in kernel.CASES:
        cost = kernel.cost(**case)
        assert cost["bytes"] > 0 and cost["flops"] >= 0
        assert cost["unit"] in {"bf16", "fp8", "fp4", "fp32"}


BLACKWELL = (100, 103, 107)  # SM107 since the releases that have it
BLOCK_SCALED = (*BLACKWELL, 110, 120, 121)
FAMILIES = {
    "batch_prefill_fp8": (90,),  # fa3
    "cutedsl_masked_moe": BLACKWELL,
    "cutedsl_moe": BLACKWELL,
    "cutedsl_moe_bf16": (90,),
    "cutlass_moe_mxfp4": (90,),
    "cutlass_moe_mxfp8": BLOCK_SCALED,
    "cutlass_moe_nvfp4": BLOCK_SCALED,
    "trtllm_moe": (*BLACKWELL, 120, 121),  # those whose module the library compiles
    "trtllm_moe_mxfp4": (*BLACKWELL, 120, 121),
    "trtllm_prefill": BLACKWELL,
    "trtllm_prefill_fp8": BLACKWELL,
}


def test_families_are_those_of_the_librarys_sources():
    declared = {name: getattr(kernels.get(name), "SMS", None) for name in NAMES}
    assert {name: sms for name, sms in declared.items() if sms is not None} == FAMILIES


@pytest.mark.parametrize(
    "path", sorted(Path(kernels.__file__).parent.glob("*.py")), ids=lambda path: path.name
)
def test_only_the_standard_library_is_imported_at_the_top(path):
    for node in ast.parse(path.read_text(), feature_version=(3, 10)).body:
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= set(sys.stdlib_module_names)
        if isinstance(node, ast.ImportFrom) and not node.level:
            how = f"{node.module}: an environment's process has no such thing; `from . import` takes what is beside"
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names, how


def test_the_hash_follows_what_a_kernel_is_made_of(tmp_path):
    texts = {
        "one": "from . import _shared, two\n",
        "two": "from .three import cases\n",
        "three": "cases = 3\n",
        "other": "def cost():\n    from . import _shared\n",
        "_shared": "",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)

    def changed(by):
        before = {name: planning.hash_of(tmp_path / f"{name}.py") for name in texts if name != "_shared"}
        (tmp_path / f"{by}.py").write_text(texts[by] + "# changed\n")
        return {name for name, hash in before.items() if planning.hash_of(tmp_path / f"{name}.py") != hash}

    assert changed("three") == {"one", "two", "three"}
    assert changed("two") == {"one", "two"}
    assert changed("other") == {"other"}
    assert changed("_shared") == {"one", "other"}


@pytest.mark.parametrize(
    "text",
    [
        "from . import _a\n",
        "from . import other as b, _a as c  # and no more\n",
        "from . import (\n    other,  # of (two)\n    _a,\n)\n",
        "from . import other, \\\n    _a\n",
        "from ._a import x\n",
        "from ._a import (\n    x,\n    y,\n)\n",
        "from . import other; from ._a import x\n",
        "if True: from . import _a\n",
        "def cost():\n\tfrom ._a import x\n",
        "from  .  import(_a)\n",
        "from . import _a\r\n",
    ],
)
def test_an_import_is_followed_however_it_is_written(tmp_path, text):
    for name, content in (("one", text), ("other", ""), ("_a", ""), ("two", "")):
        (tmp_path / f"{name}.py").write_bytes(content.encode())
    assert tmp_path / "_a.py" in planning.made_of(tmp_path / "one.py")
    assert tmp_path / "two.py" not in planning.made_of(tmp_path / "one.py")


def test_kernels_that_import_each_other_have_a_hash(tmp_path):
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.py").write_text(f"from . import (\n    {other},\n)\n")
    before = planning.hash_of(tmp_path / "one.py")
    (tmp_path / "two.py").write_text("")
    assert planning.hash_of(tmp_path / "one.py") != before
