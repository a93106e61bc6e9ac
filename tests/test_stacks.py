"""Stacks: what releases pin, built from small wheels made here; no network but for the marked tests."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from example_results import one
from test_environments import donor, flashinfer, make_wheel, put, runs, site_of

from workbench import cli, difference
from workbench.environments import (
    BuildError,
    Environment,
    Sources,
    build,
    choose,
    declared,
    dependencies,
    index,
    load_stacks,
    parse,
    repack,
    save,
)  # fmt: skip
from workbench.environments.carrying import carry
from workbench.environments.pins import related
from workbench.results import Results
from workbench.store import save as store

REQUIRES = (
    "flashinfer_python==0.1", "flashinfer_cubin==0.1", "sglang-kernel==0.4.2.post1", "torch==2.11.0",
    "quack-kernels>=0.3.0", "apache-tvm-ffi<0.2,>=0.1", "fastapi", 'torch==1.0; sys_platform == "win32"',
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def own_uv_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_CACHE_DIR", str(tmp_path_factory.mktemp("uv")))
        yield


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> Path:
    venv = tmp_path_factory.mktemp("host") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    put(site_of(venv), "torch", "2.11.0+cu130", "where = 'host'")
    return venv / "bin" / "python"


@pytest.fixture
def wheels(tmp_path) -> Path:
    folder = tmp_path / "whéels"
    flashinfer(folder, "0.1", requires=("small", "apache-tvm-ffi>=0.1", "torch"))
    make_wheel(folder, "small", "2.0", {"small.py": ""})
    for version in ("0.1.9", "0.2.0"):
        make_wheel(folder, "apache_tvm_ffi", version, {"tvm_ffi.py": ""})
    donated = donor(folder)
    repack(donated, folder)
    donated.unlink()
    pin(folder)
    return folder


@pytest.fixture
def make(tmp_path, host, wheels):
    def make(spec="sglang==1.0", environment=None, **options):
        given = {"folder": tmp_path / "envs", "wheels": wheels, "inherit": str(host)} | options
        return build(environment or parse(spec), **given)

    return make


@pytest.fixture
def fake_index(monkeypatch):
    """Stands in for the index; what it was asked."""
    asked: list[str] = []

    def declared(release, python):
        asked.append(release)
        return list(REQUIRES)

    def newest(requirement, as_of, python):
        asked.append(f"{requirement} {as_of}")
        return f"{requirement.partition('>')[0].partition('<')[0]}==1.0"

    monkeypatch.setattr(index, "declared", declared)
    monkeypatch.setattr(index, "newest", newest)
    return asked


def pin(folder: Path, version: str = "1.0", requires: tuple[str, ...] = REQUIRES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"release": f"sglang=={version}", "requires": requires})
    (folder / f"sglang-{version}.pins.json").write_text(text)


def sources(folder: Path, wheels: Path | None = None) -> Sources:
    return Sources(folder, wheels, Path(sys.executable), "3.12.1", say=lambda text: None)


@pytest.mark.parametrize(
    ("spec", "options", "name", "requirements"),
    [
        ("sglang==0.5.12", {}, "sglang 0.5.12", ("sglang==0.5.12",)),
        ("vllm[flashinfer]==0.11.0", {}, "vllm 0.11.0", ("vllm[flashinfer]==0.11.0",)),
        ("sglang==0.5.12 quack-kernels", {}, "sglang 0.5.12 + quack-kernels", None),
        ("sglang==0.5.12", {"torch": "isolated"}, "sglang 0.5.12 (own torch)", None),
        ("sglang", {"as_of": "2026-05-14"}, "sglang (as of 2026-05-14)", ("sglang",)),
        ("flashinfer>=0.6", {"as_of": "2026-05-14"}, "flashinfer>=0.6 (as of 2026-05-14)", None),
    ],
)
def test_what_is_written_and_what_it_means(spec, options, name, requirements):
    found = parse(spec, **options)
    assert found.name == name
    assert requirements is None or found.requirements == requirements


@pytest.mark.parametrize(
    ("spec", "options", "says"),
    [
        ("sglang", {}, "pin it: sglang==X"),
        ("sglang==0.5.*", {}, "pin it: sglang==X"),
        ("sglang==0.5.12 quack-kernels>=0.3", {}, "pin it: quack-kernels==X"),
        ("sglang==0.5.12 vllm==0.20.0", {}, "one stack an environment"),
        ("sglang", {"as_of": "14.5.2026"}, "write it like 2026-05-14"),
        ("sglang", {"as_of": "2999-01-01"}, "yet to come"),
        ("flashinfer==0.6.8", {"torch": "isolated"}, "which torch?"),
        ("here", {"as_of": "2026-05-14"}, "used as it is"),
    ],
)
def test_a_bad_one_says_how_to_write_it(spec, options, says):
    with pytest.raises(ValueError) as caught:
        parse(spec, **options)
    assert says in str(caught.value)


def test_a_stack_is_flashinfer_its_triton_kernels_and_what_it_is_bound_to(make):
    built = make()
    assert built.packages == {
        "flashinfer-python": "0.1", "apache-tvm-ffi": "0.1.9", "small": "2.0",
        "triton-kernels-of-sglang-kernel": "0.4.2.post1",
    }  # fmt: skip
    assert built.inherited == {"torch": "2.11.0+cu130"}
    assert runs(built.python, "from triton_kernels import matmul_ogs; print(matmul_ogs.answer)") == "42"
    stored = built.provenance()
    assert stored["name"] == "sglang 1.0" and stored["stack"] == "sglang==1.0" and stored["deviations"] == []
    states = {name: each["state"] for name, each in stored["pins"].items()}
    assert states.pop("flashinfer-cubin") == states.pop("quack-kernels") == "absent"
    assert set(states.values()) == {"met"} and "fastapi" not in states
    assert stored["pins"]["sglang-kernel"]["from"] == "component"
    assert make().hash == built.hash


def test_another_torch_than_the_pinned_one_is_a_deviation(make, wheels):
    requires = tuple(each.replace("torch==2.11.0", "torch==2.9.1") for each in REQUIRES)
    pin(wheels, "0.9", requires)
    stored = make("sglang==0.9").provenance()
    assert stored["deviations"] == ["torch 2.11.0+cu130 inherited, the stack pins 2.9.1"]
    assert stored["pins"]["torch"]["state"] == "deviates"


def test_a_torch_of_its_own(make, wheels):
    pin(wheels, "0.9", ("flashinfer-python==0.1", "torch==2.9.1"))
    make_wheel(wheels, "torch", "2.9.1", {"torch.py": "where = 'own'"}, ("triton==3.5",))
    make_wheel(wheels, "triton", "3.5", {"triton.py": ""})
    said: list[str] = []
    built = make(environment=parse("sglang==0.9", torch="isolated"), progress=said.append)
    assert built.packages["torch"] == "2.9.1" and built.packages["triton"] == "3.5"
    assert runs(built.python, "import torch; print(torch.where)") == "own"
    assert built.provenance()["deviations"] == [] and any("gigabytes" in each for each in said)


def test_what_is_named_beside_a_stack(make, wheels):
    flashinfer(wheels, "0.2", requires=())
    make_wheel(wheels, "quack_kernels", "0.4", {"quack.py": ""})
    stored = make("sglang==1.0 flashinfer==0.2 quack-kernels").provenance()
    assert stored["deviations"] == ["flashinfer-python 0.2 own, the stack pins 0.1"]
    assert stored["pins"]["quack-kernels"]["state"] == "met"
    with pytest.raises(BuildError, match="does not pin einops: write einops==X"):
        make("sglang==1.0 einops")


def test_the_parts_of_a_package_come_with_it(make, wheels):
    pin(wheels, "0.9", ("flashinfer-python==0.1", "nvidia-cutlass-dsl==4.5.0"))
    make_wheel(wheels, "nvidia_cutlass_dsl", "4.5.0", {}, ("nvidia-cutlass-dsl-libs-base==4.5.0",))
    beside = ("nvidia-cutlass-dsl-libs-core==4.5.0", "nvidia-cuda-nvdisasm")
    make_wheel(wheels, "nvidia_cutlass_dsl_libs_base", "4.5.0", {"cutlass.py": ""}, beside)
    make_wheel(wheels, "nvidia_cutlass_dsl_libs_core", "4.5.0", {"cute.py": ""})
    made = make("sglang==0.9 nvidia-cutlass-dsl").packages
    assert {"nvidia-cutlass-dsl-libs-base", "nvidia-cutlass-dsl-libs-core"} <= set(made)


def test_the_parts_of_a_package_are_carried_with_it(tmp_path, wheels):
    needs = ("nvidia-cutlass-dsl-libs-base==4.5.0", "nvidia-cublas")
    make_wheel(wheels, "nvidia_cutlass_dsl", "4.5.0", {}, needs)
    make_wheel(wheels, "nvidia_cutlass_dsl_libs_base", "4.5.0", {}, ("nvidia-cutlass-dsl-libs-core==4.5.0",))
    make_wheel(wheels, "nvidia_cutlass_dsl_libs_core", "4.5.0", {"cute.py": ""})
    (tmp_path / "carried").mkdir()
    carry(parse("nvidia-cutlass-dsl==4.5.0"), sources(tmp_path, wheels), tmp_path / "carried")
    names = {file.name.partition("-")[0] for file in (tmp_path / "carried").iterdir()}
    assert names == {f"nvidia_cutlass_dsl{part}" for part in ("", "_libs_base", "_libs_core")}


def test_what_a_heavy_package_imports_of_cuda_comes_with_it(make, wheels):
    make_wheel(wheels, "nvidia_cutlass_dsl", "4.5.0", {"cutlass.py": ""}, ("cuda-python>=12.8", "numpy"))
    make_wheel(wheels, "cuda_python", "13.1", {}, ("cuda-bindings~=13.1",))
    make_wheel(wheels, "cuda_bindings", "13.1", {"cuda.py": ""}, ("cuda-pathfinder~=1.1",))
    make_wheel(wheels, "cuda_pathfinder", "1.2", {"pathfinder.py": ""})
    made = make("nvidia-cutlass-dsl==4.5.0").packages
    assert {"cuda-python", "cuda-bindings", "cuda-pathfinder"} <= set(made) and "numpy" not in made


@pytest.mark.parametrize(
    ("owner", "requirement", "there", "wanted"),
    [
        ("nvidia-cutlass-dsl-libs-base", "cuda-python>=12.8", {}, True),
        ("nvidia-cutlass-dsl-libs-base", "cuda-python>=12.8", {"cuda-bindings": "13.0.3"}, False),
        ("nvidia-cutlass-dsl-libs-base", "cuda-python>=13.1", {"cuda-bindings": "13.0.3"}, True),
        ("cuda-bindings", "cuda-pathfinder~=1.1", {"cuda-pathfinder": "1.2"}, False),
        ("flashinfer-python", "cuda-python>=12", {}, False),
        ("quack-kernels", "cuda-python", {}, False),
        ("nvidia-cutlass-dsl-libs-base", "nvidia-cuda-nvcc", {}, False),
    ],
)
def test_cuda_python_is_what_the_host_calls_cuda_bindings(owner, requirement, there, wanted):
    from packaging.requirements import Requirement

    assert dependencies._of_cuda_python(owner, Requirement(requirement), there) is wanted


def test_cuda_python_is_not_lacking_where_cuda_bindings_are(monkeypatch, tmp_path):
    declared = SimpleNamespace(requires=["cuda-python>=12.8", "cuda-tile"])
    monkeypatch.setattr(dependencies, "installed", lambda site: {"nvidia-cutlass-dsl": declared})
    assert set(dependencies.lacks(tmp_path, {"cuda-bindings"}, "3.12.1")) == {"cuda-tile"}
    assert set(dependencies.lacks(tmp_path, {"cuda-tile"}, "3.12.1")) == {"cuda-python"}


def test_offline_pins_come_from_a_wheel_too(make, wheels):
    make_wheel(wheels, "sglang", "1.1", {"sglang/__init__.py": ""}, REQUIRES)
    assert make("sglang==1.1").hash == make().hash, "the same pins, the same contents"


@pytest.mark.parametrize(
    ("gone", "says"),
    [
        ("sglang-1.0.pins.json", "neither sglang-1.0.pins.json nor a wheel of sglang 1.0"),
        ("triton_kernels_of_*", "neither triton_kernels_of_sglang_kernel-0.4.2.post1"),
        ("flashinfer_python-*", "flashinfer-python"),
        ("apache_tvm_ffi-0.1.9-*", "apache-tvm-ffi"),
    ],
)
def test_offline_what_is_missing_is_named(make, wheels, gone, says):
    next(wheels.glob(gone)).unlink()
    with pytest.raises(BuildError) as caught:
        make()
    assert says in str(caught.value)


def test_offline_what_it_is_bound_to_may_be_inherited(make, wheels, host):
    next(wheels.glob("apache_tvm_ffi-0.1.9-*")).unlink()
    next(wheels.glob("apache_tvm_ffi-0.2.0-*")).unlink()
    put(site_of(host.parents[1]), "apache_tvm_ffi", "0.1.5", "")
    try:
        assert make().provenance()["pins"]["apache-tvm-ffi"]["from"] == "inherited"
    finally:
        shutil.rmtree(site_of(host.parents[1]) / "apache_tvm_ffi-0.1.5.dist-info")


@pytest.mark.parametrize("requires", [("torch==2.11.0",), ("flashinfer-python>=0.1",)])
def test_a_stack_without_an_exact_flashinfer(make, wheels, requires):
    pin(wheels, "0.8", requires)
    with pytest.raises(BuildError, match="name one beside it"):
        make("sglang==0.8")
    assert make("sglang==0.8 flashinfer==0.1").packages["flashinfer-python"] == "0.1"


def test_the_index_is_asked_once(tmp_path, fake_index):
    for _ in range(2):
        found = declared(parse("sglang==1.0"), sources(tmp_path))
    assert found["pins"]["torch"]["pinned"] == "==2.11.0"
    assert fake_index == ["sglang==1.0"]
    (tmp_path / "pins" / "sglang-1.0.pins.json").write_text('{"requi')
    assert declared(parse("sglang==1.0"), sources(tmp_path)) == found, "a torn file is asked for again"


def test_as_of_a_day(tmp_path, fake_index, wheels):
    environment = parse("sglang", as_of="2026-05-14")
    found = declared(environment, sources(tmp_path))
    assert fake_index[:2] == ["sglang 2026-05-14", "sglang==1.0"]
    assert found["pins"]["quack-kernels"]["pinned"] == "==1.0"
    assert index.until("2026-05-14") == ["--exclude-newer", "2026-05-15T00:00:00Z"]
    with pytest.raises(BuildError, match="needs the package index"):
        declared(environment, sources(tmp_path, wheels))


def test_markers_and_extras_decide():
    lines = ['flashinfer-python==0.5; extra == "fast"', 'torch==2.0; python_version < "3.11"', "torch>=1"]
    assert related(lines, "3.12.1", set()) == {"torch": ">=1"}
    assert related(lines, "3.10.2", {"fast"}) == {"flashinfer-python": "==0.5", "torch": "==2.0,>=1"}
    with pytest.raises(BuildError, match="cannot be read"):
        related(["torch == =="], "3.12.1", set())


def test_saved_for_a_machine_without_a_network(tmp_path, make, wheels, fake_index, monkeypatch):
    def fetch(requirements, folder, python):
        name = requirements[0].partition("=")[0].partition("<")[0].replace("-", "_")
        shutil.copy(min(wheels.glob(f"{name}-*")), folder)

    monkeypatch.setattr(index, "fetch", fetch)
    shutil.copytree(wheels, tmp_path / "here" / "wheels")
    carried = tmp_path / "carried"
    names = {file.name for file in save(parse("sglang==1.0"), sources(tmp_path / "here"), carried)}
    assert {name.partition("-")[0] for name in names} == {
        "sglang", "flashinfer_python", "apache_tvm_ffi", "triton_kernels_of_sglang_kernel",
    }  # fmt: skip
    make_wheel(carried, "small", "2.0", {"small.py": ""})
    assert make(wheels=carried).hash == make().hash
    with pytest.raises(BuildError, match="gigabytes"):
        save(parse("sglang==1.0", torch="isolated"), sources(tmp_path), carried)


STACKS = """
[stack.candidate]
requirements = ["sglang==0.5.12", "quack-kernels"]
torch = "isolated"
[stack.that-day]
requirements = ["flashinfer"]
as_of = 2026-05-14
"""


def test_stacks_with_names(tmp_path):
    (tmp_path / "stacks.toml").write_text(STACKS)
    stacks = load_stacks(tmp_path / "stacks.toml")
    assert choose("candidate", stacks) == Environment(
        "candidate: sglang 0.5.12 + quack-kernels (own torch)",
        ("sglang==0.5.12", "quack-kernels"),
        torch="isolated",
    )
    assert choose("candidate", stacks, torch="inherit").torch == "inherit"
    assert choose("that-day", stacks).as_of == "2026-05-14"
    assert choose("flashinfer==0.6.8", stacks) == parse("flashinfer==0.6.8")
    with pytest.raises(ValueError, match="no stack 'candidat'; there are candidate, that-day"):
        choose("candidat", stacks)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[stack", "is not TOML"),
        ("a = 1", r"holds tables \[stack.NAME\]"),
        ("[stack.here]\nrequirements = ['a==1']", "no name for a stack"),
        ("[stack.a]\nrequirement = ['a==1']", "requirement is not known"),
        ("[stack.a]\nrequirements = 'a==1'", "requirements is a list"),
    ],
)
def test_a_bad_file_of_stacks_says_why(tmp_path, text, says):
    (tmp_path / "stacks.toml").write_text(text)
    with pytest.raises(ValueError, match=says):
        load_stacks(tmp_path / "stacks.toml")


def lock(name="a", packages=(), inherited=(), pins=()):
    pinned = {each: {"pinned": version} for each, version in dict(pins).items()}
    return {"name": name, "packages": dict(packages), "inherited": dict(inherited), "pins": pinned}


def test_the_difference_of_two_locks():
    before = lock(packages={"a": "1", "gone": "1"}, inherited={"torch": "2.11.0+cu129"}, pins={"q": "==1"})
    after = lock("b", {"a": "2", "torch": "2.11.0+cu130"}, {"new": "1"}, {"q": ">=2", "a": "==9"})
    rows = [
        (row.package, row.before, row.after, row.kind, row.where)
        for row in difference.difference(before, after)
    ]
    assert rows == [
        ("a", "1", "2", "changed", "own"),
        ("gone", "1", "", "removed", "own"),
        ("new", "", "1", "added", "inherited"),
        ("q", "1", ">=2", "changed", "pinned"),
        ("torch", "2.11.0+cu129", "2.11.0+cu130", "same-local-label-only", "inherited -> own"),
    ]  # fmt: skip
    assert difference.difference(before, before) == [] and difference.same(before, before)
    assert not difference.same({**before, "hash": "1"}, {**before, "hash": "2"})
    assert "the same versions, other contents" in difference.difference_text(
        {**before, "hash": "1"}, {**before, "hash": "2"}
    )


def test_a_hostile_lock_is_inert():
    hostile = {"name": "\x1b[2Jx", "packages": {"a\x1b[0m\nb": "1\r2", "n": 3}, "inherited": 7, "pins": ["x"]}
    text = difference.difference_text(hostile, lock()) + difference.lock_text(hostile)
    text += difference.lock_text(
        {"pins": {"a": {"pinned": None}, "b\x1b": 1}, "deviations": ["\x1b]0;x\x07", 2]}
    )
    assert "\x1b" not in text and "\r" not in text and "a b" in text


def test_the_command_compares_and_tells_by_its_exit_code(tmp_path, capsys):
    pin(tmp_path)
    pin(tmp_path, "1.1", (*REQUIRES[1:], "flashinfer_python==0.2"))
    given = ["--wheels", str(tmp_path)]
    assert cli.main(["stack", "sglang==1.0", *given]) == 0
    assert cli.main(["stack", "sglang==1.0", "sglang==1.0", *given]) == 0
    assert cli.main(["stack", "sglang==1.2", *given]) == 2
    assert cli.main(["stack", "here", *given]) == 2
    capsys.readouterr()
    assert cli.main(["stack", "sglang==1.0", "sglang==1.1", "--json", *given]) == 1
    assert json.loads(capsys.readouterr().out) == [
        {
            "package": "flashinfer-python",
            "before": "0.1",
            "after": "0.2",
            "kind": "changed",
            "where": "pinned",
        }
    ]


def test_the_command_reads_stored_results(tmp_path, capsys):
    for name, version in (("sglang 1.0", "0.1"), ("sglang 1.1", "0.2")):
        provenance = {"environment": {"name": name, "packages": {"flashinfer-python": version}}}
        store(one("k", {}, name, provenance=provenance), tmp_path / f"{version}.jsonl")
    given = ["--results", str(tmp_path)]
    assert cli.main(["stack", "sglang 1.0", "sglang 1.1", *given]) == 1
    assert "flashinfer-python" in capsys.readouterr().out
    assert cli.main(["stack", "sglang 1.0", *given]) == 0
    assert cli.main(["stack", "sglang 9", *given]) == 2
    assert "there are sglang 1.0, sglang 1.1" in capsys.readouterr().err
    assert difference.locks_of(Results()) == {}


@pytest.mark.network
def test_what_sglang_really_pins(tmp_path, monkeypatch):
    monkeypatch.delenv("UV_CACHE_DIR")
    found = declared(parse("sglang==0.5.12"), sources(tmp_path))["pins"]
    assert {name: each["pinned"] for name, each in found.items()} == {
        "flashinfer-python": "==0.6.11.post1", "flashinfer-cubin": "==0.6.11.post1",
        "sglang-kernel": "==0.4.2.post2", "torch": "==2.11.0", "nvidia-cutlass-dsl": "==4.5.0",
        "quack-kernels": ">=0.4.1", "apache-tvm-ffi": "==0.1.9",
    }  # fmt: skip
    assert index.newest("sglang", "2026-05-14", Path(sys.executable)) == "sglang==0.5.11"
