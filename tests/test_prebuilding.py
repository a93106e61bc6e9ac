"""Modules built ahead: which, of which sources, resumed after a kill, packed. The compilers are fake."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from workbench import cli, prebuilt
from workbench.environments import BuildError
from workbench.environments.alone import alone
from workbench.prebuilding import (
    CompileError,
    compiling,
    linking,
    making,
    packing,
    recipes,
    toolkit,
    trimming,
)
from workbench.prebuilding.headers import Headers
from workbench.prebuilding.toolkit import Toolkit

ninja = pytest.mark.skipif(shutil.which("ninja") is None, reason="ninja is not here")
BF16 = "template class Runner<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>;"
HALF = "#ifdef ENABLE\ntemplate class Runner<half, half, float>;\n#endif"
MIXED = "INSTANTIATE_GEMM(Sm90, __nv_bfloat16, SafeFP4, __nv_bfloat16, 128)"
SM80 = "template void launch<cutlass::bfloat16_t, cutlass::bfloat16_t, 128, 2>(int, char*);"


def in_namespace(text):
    return f'// Copyright\n#include "x.h"\nnamespace a::b {{\nusing T = int;\n{text}\n}} // namespace a::b\n'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (in_namespace(BF16), True),
        (in_namespace(HALF), False),
        (in_namespace(MIXED), False),
        (in_namespace(SM80), True),
        (in_namespace(HALF + "\n" + SM80), True),
        (in_namespace(HALF + "\nint version() { return 1; }"), True),  # it has something of its own
        (in_namespace("template class Holder<int>;"), True),  # no number types: nothing is known of it
        (in_namespace(f"// {BF16}\n{HALF}"), False),
        ("", True),
    ],
)
def test_a_source_is_left_out_only_if_all_it_does_is_for_other_types(tmp_path, text, kept):
    source = tmp_path / "a.cu"
    source.write_text(text)
    assert bool(trimming.needed([source], "bf16")) is kept


@pytest.mark.parametrize(
    ("only", "kept"),
    [("bf16-fp4", True), ("bf16", False), ("bf16,bf16-fp4", True), ("fp4-bf16", False), ("fp8,fp16", False)],
)
def test_types_of_both_operands(tmp_path, only, kept):
    source = tmp_path / "a.cu"
    source.write_text(in_namespace("template void launch<__nv_bfloat16, __nv_fp4_e2m1, half>(int);"))
    assert bool(trimming.needed([source], only)) is kept


@pytest.mark.parametrize("only", ["bf17", "bf16-", "bf16-fp4-fp8", ",", "bf16,,fp8"])
def test_types_that_there_are_not(only):
    with pytest.raises(ValueError, match="bf16-fp4"):
        trimming.Trim(only)


def library(folder, seconds=0.0, sources=("one", "two", "three", "four")):
    """A module as the library would write it; the compiler notes what it makes, and takes its time."""
    folder.mkdir(exist_ok=True)
    (folder / "fake_compiler").write_text(
        f'#!/bin/sh\necho "$1" >> {folder}/made.log\n'
        'grep -q broken "$1" && { echo "$1:3: error: no such thing"; exit 1; }\n'
        f'sleep {seconds}\ncp "$1" "$2"\n'
    )
    (folder / "fake_linker").write_text('#!/bin/sh\nout=$1; shift; cat "$@" > $out\n')
    for name in ("fake_compiler", "fake_linker"):
        (folder / name).chmod(0o755)
    steps = []
    for name in sources:
        (folder / f"{name}.cu").write_text(name)
        steps.append(f"build {folder}/{name}.o: cuda_compile {folder}/{name}.cu")
    objects = " ".join(f"{folder}/{name}.o" for name in sources)
    (folder / "build.ninja").write_text(
        f"cuda_cflags = $\n    -isystem /somewhere/include $\n    -O3 -gencode=arch=compute_90a,code=sm_90a\n"
        f"ldflags = -shared -lcuda\n"
        f"rule cuda_compile\n  command = {folder}/fake_compiler $in $out\n"
        f"rule link\n  command = {folder}/fake_linker $out $in\n"
        + "\n".join(steps)
        + f"\nbuild {folder}/fake.so: link {objects}\ndefault {folder}/fake.so\n"
    )
    return recipes.read("fake", folder / "build.ninja")


@pytest.fixture
def cuda(tmp_path):
    (tmp_path / "cuda" / "lib64").mkdir(parents=True)
    return Toolkit(tmp_path / "cuda", "13.0.88")


def test_a_recipe_is_read_from_the_library_s_own_file(tmp_path):
    recipe = library(tmp_path / "m")
    assert [source.name for source in recipe.objects.values()] == ["one.cu", "two.cu", "three.cu", "four.cu"]
    assert recipe.flags()["cuda_cflags"] == ["-O3", "-gencode=arch=compute_90a,code=sm_90a"]  # without places
    before = recipe.sources_hash()
    (tmp_path / "m" / "two.cu").write_text("other")
    assert recipe.sources_hash() != before


def made_log(folder):
    return (folder / "made.log").read_text().split()


@ninja
def test_only_what_is_kept_is_made_and_linked(tmp_path, cuda):
    recipe = library(tmp_path / "m")
    kept = {tmp_path / "m" / "one.cu", tmp_path / "m" / "three.cu"}
    told = []
    compiling.run(linking.write(recipe, kept, cuda), 1, {}, lambda *numbers: told.append(numbers))
    assert recipe.library.read_text() == "onethree"
    assert told == [(1, 3), (2, 3), (3, 3)]


@ninja
def test_a_driver_library_that_is_not_here_has_a_stand_in_of_its_name(tmp_path, cuda):
    recipe = library(tmp_path / "m")
    linking.write(recipe, set(recipe.objects.values()), cuda)
    assert (tmp_path / "m" / "stand_ins" / "libcuda.so.1").resolve().read_bytes()[:4] == b"\x7fELF"


RUNS = """
import pathlib, sys
from workbench.environments.alone import alone
from workbench.prebuilding import compiling
ninja = pathlib.Path(sys.argv[1])
with alone(ninja.parent, "fake", print) as held:
    compiling.run(ninja, 1, {}, print, held)
"""


@ninja
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_build_that_was_killed_goes_on_where_it_was(tmp_path, cuda, number):
    recipe = library(tmp_path / "m", seconds=0.5)
    file = linking.write(recipe, set(recipe.objects.values()), cuda)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-c", RUNS, file], stderr=quiet, stdout=quiet)
    log = tmp_path / "m" / "made.log"
    while (
        not log.exists() or len(made_log(tmp_path / "m")) < 3
    ):  # the third is begun when two are noted as made
        time.sleep(0.02)
    process.send_signal(number)
    process.wait()
    with alone(file.parent, "fake", lambda text: None) as held:
        if number == signal.SIGKILL:  # the compiler has outlived it, and we have waited for its end
            assert (tmp_path / "m" / "three.o").exists()
        before = len(made_log(tmp_path / "m"))
        compiling.run(file, 1, {}, lambda *_: None, held)
    again = made_log(tmp_path / "m")[before:]
    assert recipe.library.read_text() == "onetwothreefour"
    assert not {"one.cu", "two.cu"} & {Path(each).name for each in again}


@ninja
def test_the_compiler_s_first_error_is_told_and_what_is_made_is_kept(tmp_path, cuda):
    recipe = library(tmp_path / "m")
    (tmp_path / "m" / "three.cu").write_text("broken")
    with pytest.raises(CompileError, match=r"^three.cu:3: error: no such thing$"):
        compiling.run(linking.write(recipe, set(recipe.objects.values()), cuda), 1, {}, lambda *_: None)
    assert (tmp_path / "m" / "one.o").exists()


@ninja
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_who_ends_ninja_has_found_no_error(tmp_path, cuda, number):
    recipe = library(tmp_path / "m", seconds=0.5)
    file = linking.write(recipe, set(recipe.objects.values()), cuda)

    def end(*_):
        (ninja,) = psutil.Process().children()
        ninja.send_signal(number)

    with pytest.raises(BuildError, match="ended from outside"):
        compiling.run(file, 1, {}, end)


@ninja
def test_a_compiler_that_is_killed_has_found_no_error(tmp_path, cuda):
    recipe = library(tmp_path / "m", seconds=0.5)
    with (tmp_path / "m" / "fake_compiler").open("a") as script:
        script.write("grep -q three $1 && kill -9 $$\nexit 0\n")
    with pytest.raises(BuildError, match="ended without a word"):
        compiling.run(linking.write(recipe, set(recipe.objects.values()), cuda), 1, {}, lambda *_: None)


@pytest.mark.parametrize(
    ("said", "silent"),
    [
        ("ninja: Entering\nFAILED: a.o\nnvcc a.cu\nninja: build stopped: subcommand failed.\n", True),
        ("FAILED: [code=137] a.o\nnvcc a.cu\nKilled\nFAILED: b.o\nnvcc b.cu\nninja: build stopped.\n", True),
        ("FAILED: a.o\nnvcc a.cu\nFAILED: b.o\nnvcc b.cu\nb.cu(3): error\nninja: build stopped.\n", False),
        ("FAILED: a.o\nnvcc a.cu\nRuntimeError: no\nninja: build stopped: subcommand failed.\n", False),
        ("FAILED: a.o\nc++ a.cc\nc++: fatal error: Killed signal terminated program cc1plus\n", False),
        ("ninja: error: loading 'x'\n", False),
    ],
)  # fmt: skip
def test_a_step_that_failed_without_a_word(said, silent):
    assert compiling.silent(said) is silent


@pytest.fixture
def make(tmp_path, cuda, monkeypatch):
    """Makes the fake module, with what stands for an environment; `path` is where its programs are."""
    monkeypatch.setattr(packing, "check", lambda *_: None)

    def make(recipe, path=os.environ["PATH"]):
        built = SimpleNamespace(
            variables={"PATH": path}, packages={}, inherited={"flashinfer-python": "1"},
            environment=SimpleNamespace(name="e"), python=Path(sys.executable),
        )  # fmt: skip
        return making.make(
            recipe, built, cuda, Headers(tmp_path, cuda, built.python, None, print), arch="9.0a",
            trim=trimming.Trim(), output=tmp_path / "packed", at_once=1, told=lambda *_: None,
        )  # fmt: skip

    return make


@ninja
def test_what_a_machine_lacks_is_no_fault_of_the_sources(tmp_path, make):
    recipe = library(tmp_path / "m")
    assert (make(recipe, path="").state, make(recipe).state) == ("not made", "made")
    (tmp_path / "m" / "three.cu").write_text("broken")
    assert make(recipe).state == "failed"


@ninja
def test_sources_that_are_others_and_no_newer_are_compiled(tmp_path, make):
    recipe = library(tmp_path / "m")
    before = recipe.objects[f"{tmp_path}/m/two.o"].stat()
    assert make(recipe).state == "made"
    (tmp_path / "m" / "two.cu").write_text(
        "TWO"
    )  # as of a wheel that was unpacked before those objects were made
    os.utime(tmp_path / "m" / "two.cu", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert make(recipe).state == "made"
    assert recipe.library.read_text() == "oneTWOthreefour"
    made = len(made_log(tmp_path / "m"))
    recipe.library.unlink()
    packing.note_of(Path(make(recipe).file)).unlink()
    assert make(recipe).state == "made" and len(made_log(tmp_path / "m")) == made


@ninja
def test_a_library_whose_linker_was_killed_is_linked_again(tmp_path, make):
    recipe = library(tmp_path / "m")
    made = make(recipe)
    recipe.library.write_text("onetw")  # ninja knows of no change: its sources are as they were
    packing.note_of(Path(made.file)).unlink()
    assert make(recipe).state == "made"
    assert recipe.library.read_text() == "onetwothreefour"
    assert packing.whole(recipe.library, Path(made.file))


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("FAILED: a.o\n/x/y/a.cu(12): error: it is undefined\n1 error", "a.cu(12): error: it is undefined"),
        ("/x/a.cu:1: fatal error: cublasLt.h: No such file", "a.cu:1: fatal error: cublasLt.h: No such file"),
        ("ptxas fatal   : Unresolved extern function", "ptxas fatal   : Unresolved extern function"),
        ("/usr/bin/ld: cannot find -lnvrtc", "ld: cannot find -lnvrtc"),
        ("ninja: loading 'x': file is missing", "ninja: loading 'x': file is missing"),
        ("ninja: Entering directory `/x/m'\nFAILED: a.o\nninja: build stopped: subcommand failed.",
         "ninja: build stopped: subcommand failed."),
        ("nothing of note", ""),
    ],
)  # fmt: skip
def test_the_line_that_says_why(said, line):
    assert compiling.first_error(said) == line


@pytest.mark.parametrize(
    ("asked", "cores", "free_mb", "jobs"),
    [(None, 2, 24_000, 2), (None, 64, 10_000, 3), (None, 8, 500, 1), (7, 2, 500, 7)],
)
def test_no_more_compilers_than_memory_holds(monkeypatch, asked, cores, free_mb, jobs):
    import psutil

    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free_mb << 20))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores))
    assert compiling.jobs(asked) == jobs


@pytest.fixture
def headers(tmp_path, cuda, monkeypatch):
    """Headers whose wheels hold one of the part's name; `installed` are the parts that were asked for."""
    found = Headers(tmp_path, cuda, Path(sys.executable), None, lambda text: None)
    found.installed = []

    def install(python, requirements, wheels, *options):
        part = requirements[0].partition("[")[2].partition("]")[0]
        found.installed.append(part)
        include = Path(options[-1]) / "nvidia" / "cu13" / "include"
        include.mkdir(parents=True)
        (include / f"{part}.h").write_text("int there;")
        if "fails" in found.installed:
            raise KeyboardInterrupt

    monkeypatch.setattr("workbench.prebuilding.headers.install", install)
    return found


def test_only_a_header_that_a_wheel_has_is_supplied_and_only_once(headers):
    log = "a.h:19:10: fatal error: cublasLt.h: No such file or directory"
    assert headers.variables() == {}
    assert headers.supply(log) and not headers.supply(log)
    assert not headers.supply("fatal error: mine.h: No such file or directory")
    assert headers.installed == ["cublas"]
    (place,) = set(headers.variables().values())
    assert (Path(place) / "cublas.h").exists()


def test_headers_of_which_a_killed_run_has_left_a_half_are_fetched_again(headers):
    headers.installed.append("fails")
    with pytest.raises(KeyboardInterrupt):
        headers.supply("fatal error: cublasLt.h: No such file")
    assert headers.variables() == {}
    half = headers.folder / ".cublas.half-1" / "wheel" / "nvidia" / "include"  # as kill -9 leaves it
    half.mkdir(parents=True)
    (half / "cublas_v2.h").write_text("#ifndef")
    headers.installed.remove("fails")
    assert headers.supply("fatal error: cublasLt.h: No such file")
    (place,) = set(headers.variables().values())
    assert [each.name for each in Path(place).iterdir()] == ["cublas.h"]
    assert not half.exists()


def test_a_packed_module_is_read_back_with_its_mark(tmp_path):
    so, file = tmp_path / "fake.so", packing.place(tmp_path / "m", "9.0a", "0.6.8.post1", "fake")
    so.write_bytes(b"module")
    note = {"trimmed": "bf16 templates only", "nvcc": "13.0.88"}
    packing.pack(so, file, note)
    found = prebuilt.modules(tmp_path / "m", "0.6.8.post1", "9.0", tmp_path / "unpacked")["fake"]
    assert (found.file.read_bytes(), found.mark) == (b"module", "bf16 templates only")
    assert packing.same(file, note)
    assert not packing.same(file, {**note, "nvcc": "13.1.0"})
    file.write_bytes(b"torn")
    assert not packing.same(file, note)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("extern int there_is_no_such_value; int* at = &there_is_no_such_value;", "undefined symbol"),
        ("int missing(int); int call(int x) { return missing(x); }", ""),  # found missing when it is called
        (
            "#include <cstdlib>\nstatic int at_start = (std::abort(), 1);",
            "",
        ),  # asks for a GPU as it is opened
    ],
)
def test_a_module_may_lack_functions_and_nothing_else(tmp_path, cuda, text, why):
    library = tmp_path / "fake.so"
    (tmp_path / "a.cpp").write_text(text)
    subprocess.run(["c++", "-shared", "-fPIC", tmp_path / "a.cpp", "-o", library], check=True)
    (tmp_path / "tvm_ffi.py").touch()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    built = SimpleNamespace(python=python, variables={})
    if not why:
        return packing.check(library, built, cuda)
    with pytest.raises(CompileError, match=why):
        packing.check(library, built, cuda)


def test_the_toolkit_is_where_nvcc_says_though_a_script_starts_it(tmp_path):
    script = tmp_path / "nvcc"
    script.write_text("#!/bin/sh\necho '#$ _HERE_=/opt/cuda-13.0/bin'\necho 'release 13.0, V13.0.88'\n")
    script.chmod(0o755)
    found = toolkit.find(str(script))
    assert (found.home, found.version, found.release) == (Path("/opt/cuda-13.0"), "13.0.88", "13.0")
    with pytest.raises(ValueError, match="cannot be asked"):
        toolkit.find(str(tmp_path / "none"))


JIT = """
import dataclasses, os, pathlib

@dataclasses.dataclass
class JitSpec:
    name: str
    sources: list

    @property
    def ninja_path(self):
        return pathlib.Path(os.environ["FLASHINFER_WORKSPACE_BASE"]) / self.name / "build.ninja"

    def write_ninja(self):
        folder = self.ninja_path.parent
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / "a.o"
        self.ninja_path.write_text(
            f"ldflags = -shared\\nrule cuda_compile\\n  command = c++ -x c++ -fPIC -c $in -o $out\\nrule link\\n"
            f"  command = c++ $in $ldflags -o $out\\nbuild {made}: cuda_compile {self.sources[0]}\\n"
            f"build {folder / self.name}.so: link {made}\\n")

    def build_and_load(self):
        raise AssertionError("it would compile")
"""
TWICE = """
import functools, pathlib, torch
from .jit.core import JitSpec

@functools.cache
def module(major):
    return JitSpec(f"twice_{major}", [pathlib.Path(__file__).with_name("twice.cu")]).build_and_load()

def twice(x):
    if not x.is_cuda or x.device.type != "cuda":
        raise ValueError("device must be a cuda device")
    if x.shape[0] > 100:
        raise ValueError("too many rows")
    out = torch.empty_like(x)
    module(torch.cuda.get_device_capability(x.device)[0]).twice(out, x)
    return out
"""
KERNEL = """
API = "flashinfer.twice.twice"
TOLERANCE, VARIES = 1e-6, ()
CASES = [dict(rows=4), dict(rows=8), dict(rows=200)]

def inputs(*, rows, seed=0):
    import torch
    source = torch.Generator(device="cuda").manual_seed(seed)
    return dict(x=torch.randn(rows, 4, generator=source, device=source.device))

def prepare(function, inputs):
    return lambda: function(inputs["x"])

def reference(inputs):
    return {"out": 2 * inputs["x"]}

def cost(*, rows):
    return dict(bytes=8 * rows, flops=rows, unit="fp32")
"""


TUNER = """
class AutoTuner:
    def choose_one(self, custom_op, runners):
        return runners[0], -1
"""
WAITING = """
import pathlib
from .jit.core import JitSpec

def get_trtllm_utils_module():
    return JitSpec("trtllm_utils", [pathlib.Path(__file__).with_name("twice.cu")]).build_and_load()
"""
ASKING = """
from . import autotuner

def tuned_twice(x):
    autotuner.AutoTuner().choose_one("twice", [x])
    return twice(x)
"""


def fake_flashinfer(wheels):
    """A library with one kernel, that compiles it on the first call as FlashInfer does; its tuner has a module, too."""
    import zipfile

    info, version = "flashinfer_python-0.0.1.dist-info", "0.0.1"
    files = {
        "flashinfer/__init__.py": "", "flashinfer/jit/__init__.py": "", "flashinfer/jit/core.py": JIT,
        "flashinfer/twice.py": TWICE + ASKING, "flashinfer/autotuner.py": TUNER,
        "flashinfer/tllm_utils.py": WAITING, "flashinfer/twice.cu": 'extern "C" int twice(int x) { return 2 * x; }\n',
        "tvm_ffi/__init__.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: flashinfer-python\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }  # fmt: skip
    wheels.mkdir()
    with zipfile.ZipFile(wheels / f"flashinfer_python-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": "".join(f"{each},,\n" for each in files)}.items():
            wheel.writestr(name, text)


def fake_nvcc(folder):
    """Says where its toolkit is, and of which version; it compiles nothing."""
    file = folder / "nvcc"
    file.write_text(f"#!/bin/sh\necho '#$ _HERE_={folder}/cuda/bin'\necho 'V13.0.88'\n")
    file.chmod(0o755)
    return file


@ninja
@pytest.mark.slow
def test_the_library_says_what_it_needs_and_a_second_start_makes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fake_flashinfer(tmp_path / "wheels")
    (tmp_path / "twice.py").write_text(KERNEL)
    words = [
        "prebuild",
        "--environment",
        "flashinfer==0.0.1",
        "--wheels",
        "wheels",
        "--kernel-file",
        "twice.py",
    ]
    words += ["--arch", "9.0a", "--nvcc", str(fake_nvcc(tmp_path)), "--output", "m", "--json"]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    (made,) = json.loads(said.out)
    assert (made["module"], made["state"], made["objects"], made["of"]) == ("twice_9", "made", 1, 1)
    assert "1 cases of twice need no module: ValueError: too many rows" in said.err
    assert list(prebuilt.modules(tmp_path / "m", "0.0.1", "9.0", tmp_path / "u")) == ["twice_9"]
    (tmp_path / "tuned.py").write_text(KERNEL.replace("twice.twice", "twice.tuned_twice"))
    assert cli.main([*(word.replace("twice.py", "tuned.py") for word in words), "--dry-run"]) == 0
    tuned = [each["module"] for each in json.loads(capsys.readouterr().out)]
    assert tuned == ["twice_9", "trtllm_utils"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)[0]["state"] == "there"


@ninja
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(1500)
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not here")
def test_fp4_quantize_is_built_ahead_for_sm90_from_the_released_wheel(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        "prebuild",
        "--environment",
        "flashinfer==0.6.8.post1",
        "--kernel",
        "fp4_quantize",
        "--arch",
        "9.0a",
    ]
    assert cli.main([*words, "--output", "m", "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)
    assert (made["module"], made["objects"], made["trimmed"]) == ("fp4_quantization_90", 7, "")
    found = prebuilt.modules(tmp_path / "m", "0.6.8.post1", "9.0", tmp_path / "u")["fp4_quantization_90"]
    assert found.mark == "" and b"sm_90a" in found.file.read_bytes()


def test_what_is_left_out_by_name_is_marked(tmp_path):
    sources = [tmp_path / name for name in ("gemm_sm80_M16.cu", "gemm_sm90_M64.cu")]
    trim = trimming.Trim(leave_out="sm80")
    assert trim.kept(sources) == {sources[1]} and trim.mark == "without sm80"
    assert trimming.Trim().kept(sources) == set(sources) and trimming.Trim().mark == ""
    assert trimming.Trim("bf16", "sm80").mark == "bf16 templates only, without sm80"
    assert trimming.Trim(leave_out="M16,M64").kept(sources) == set()
    assert trimming.Trim(leave_out="sm80,").kept(sources) == {sources[1]}


@pytest.mark.parametrize(
    ("arch", "says"),
    [
        ("9", "write it like 9.0a"),
        ("8.0", "there is a stand-in for 90"),
        ("11.0a", "there is a stand-in for 90"),
    ],
)
def test_an_arch_that_cannot_be_asked_for_is_said_before_anything_is_built(capsys, arch, says):
    words = ["prebuild", "--environment", "flashinfer==0.6.8.post1", "--kernel", "fp4_quantize"]
    assert cli.main([*words, "--arch", arch, "--output", "m"]) == 2
    assert says in capsys.readouterr().err
