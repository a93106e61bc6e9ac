"""Modules built ahead, and the compile step made visible, with a stand-in for FlashInfer's JitSpec."""

import abc
import collections
import contextlib
import errno
import hashlib
import importlib.util
import json
import lzma
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

import workbench
from workbench import prebuilt, records
from workbench.environments import build, parse
from workbench.worker import builds, trial
from workbench.workers import Told


def module(folder, version="0.6.8.post1", arch="sm90a", name="fused_moe_90", note=None, packed=True):
    home = folder / arch / f"flashinfer-{version}" / name
    home.mkdir(parents=True)
    data = f"{name} of {version}".encode()
    (home / f"{name}.so{'.xz' if packed else ''}").write_bytes(lzma.compress(data) if packed else data)
    if note is not None:
        (home / f"{name}.json").write_text(json.dumps(note))


def found(folder, tmp_path, version="0.6.8.post1", sm="9.0"):
    return prebuilt.modules(folder, version, sm, tmp_path / "unpacked")


def test_a_packed_module_is_unpacked_once_and_keeps_its_mark(tmp_path):
    module(tmp_path / "m", note={"trimmed": "bf16 templates only"})
    first, second = (found(tmp_path / "m", tmp_path)["fused_moe_90"] for _ in range(2))
    assert first == second
    assert first.file.read_bytes() == b"fused_moe_90 of 0.6.8.post1"
    assert first.mark == "bf16 templates only"


@pytest.mark.parametrize(
    ("note", "mark"),
    [
        (None, "not known to be whole"),
        ({"trimmed": ""}, ""),
        ({}, "not known to be whole"),
        ([], "not known to be whole"),
    ],
)
def test_a_module_is_whole_only_if_its_note_says_so(tmp_path, note, mark):
    module(tmp_path / "m", note=note, packed=False)
    assert found(tmp_path / "m", tmp_path)["fused_moe_90"].mark == mark


def test_another_version_or_another_architecture_is_not_taken(tmp_path):
    module(tmp_path / "m", version="0.6.11.post1")
    module(tmp_path / "m", arch="sm100a")
    assert found(tmp_path / "m", tmp_path) == {}
    assert list(found(tmp_path / "m", tmp_path, sm="10.0")) == ["fused_moe_90"]


def test_what_cannot_be_unpacked_is_said(tmp_path):
    module(tmp_path / "m")
    next((tmp_path / "m").rglob("*.xz")).write_bytes(b"torn")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        found(tmp_path / "m", tmp_path)
    with pytest.raises(ValueError, match="no folder"):
        found(tmp_path / "none", tmp_path)


def test_a_note_nested_without_end_says_nothing(tmp_path):
    module(tmp_path / "m", note={})
    next((tmp_path / "m").rglob("*.json")).write_text("[" * 100_000)
    assert found(tmp_path / "m", tmp_path)["fused_moe_90"].mark == "not known to be whole"


@pytest.mark.parametrize(
    "note",
    [{"flashinfer": "0.6.11.post1"}, {"arch": "10.0a"}, {"module": "fused_moe_100"}, {"sha256": "0" * 64}],
)
@pytest.mark.parametrize("packed", [True, False])
def test_a_module_that_its_note_does_not_know_is_refused(tmp_path, note, packed):
    data = b"fused_moe_90 of 0.6.8.post1"
    right = {"flashinfer": "0.6.8.post1", "arch": "9.0a", "module": "fused_moe_90"}
    right["sha256"] = hashlib.sha256(data).hexdigest()
    module(tmp_path / "m", note={"trimmed": "", **right}, packed=packed)
    assert found(tmp_path / "m", tmp_path)["fused_moe_90"].mark == ""
    module(tmp_path / "swapped", note={"trimmed": "", **right, **note}, packed=packed)
    with pytest.raises(ValueError, match=rf"{next(iter(note))} .*make it anew with `workbench prebuild`"):
        found(tmp_path / "swapped", tmp_path)


def test_what_was_unpacked_and_then_damaged_is_unpacked_again(tmp_path):
    module(tmp_path / "m")
    file = found(tmp_path / "m", tmp_path)["fused_moe_90"].file
    file.write_bytes(b"fused")
    assert found(tmp_path / "m", tmp_path)["fused_moe_90"].file.read_bytes() == b"fused_moe_90 of 0.6.8.post1"


def test_no_room_to_unpack_names_the_file_and_leaves_no_part(tmp_path, monkeypatch):
    module(tmp_path / "m")

    def half(self, data):
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match=r"No space left on device: '.*fused_moe_90.so'"):
        found(tmp_path / "m", tmp_path)
    assert not [each for each in (tmp_path / "unpacked").rglob("*fused*") if each.is_file()]


def test_a_result_says_which_trimmed_module_it_used(tmp_path):
    module(tmp_path / "m", note={"trimmed": "bf16 templates only"})
    ahead = found(tmp_path / "m", tmp_path)
    assert records.marks(Told(facts={"prebuilt": ["fused_moe_90"]}), ahead) == [
        "fused_moe_90 built ahead: bf16 templates only"
    ]
    assert records.marks(Told(facts={"prebuilt": []}), ahead) == []


class Spec:
    """What is used of FlashInfer's JitSpec."""

    def __init__(self, name, sources, place=Path("nowhere")):
        self.name, self.sources = name, [Path(f"{n}.cu") for n in range(sources)]
        self.ninja_path = place / "build.ninja"

    @property
    def aot_path(self):
        return Path("data/aot") / self.name

    def build(self, verbose):
        return f"built {self.name}"


def whole():
    """To 0.6.17: one class compiles and loads."""
    return types.SimpleNamespace(
        JitSpec=type("JitSpec", (Spec,), {"build": Spec.build, "aot_path": Spec.aot_path})
    )


def apart(**more):
    """From 0.6.18: an abstract class, and below it one for each compiler."""
    base = type("JitSpec", (abc.ABC,), {"build": abc.abstractmethod(lambda self: None)})
    nvcc = type("JitSpecNvcc", (Spec, base), {"build": Spec.build, "aot_path": Spec.aot_path, **more})
    return types.SimpleNamespace(JitSpec=base, JitSpecNvcc=nvcc)


def packages():
    """From 0.7.0: modules built ahead lie in several packages; what is loaded is an artifact."""
    return apart(aot_artifacts=property(lambda spec: ()))


@pytest.fixture(params=[whole, apart, packages])
def flashinfer(request, monkeypatch):
    made = request.param()
    spec = getattr(made, "JitSpecNvcc", made.JitSpec)
    core = types.ModuleType("flashinfer.jit.core")
    vars(core).update(vars(made))
    monkeypatch.setitem(sys.modules, "flashinfer.jit.core", core)
    monkeypatch.setattr(builds, "_NOW", {})
    told = []

    def announce(**command):
        builds._USED.clear()
        stage = trial.Stage(lambda **facts: told.append(facts))
        stage("first_call")
        command = {"kernel_file": "k.py", **command}
        builds.announce(stage, lambda **facts: told.append(facts), command, trial.Stopped)
        return spec, told

    return announce


def test_a_build_is_a_stage_of_its_own(flashinfer):
    spec, told = flashinfer()
    assert spec("xqa", sources=5).build(False) == "built xqa"
    assert [facts["stage"] for facts in told] == ["first_call", "build", "first_call"]


def test_a_build_of_hours_is_refused_and_the_way_is_shown(flashinfer):
    spec, _ = flashinfer()
    with pytest.raises(
        trial.Stopped, match=r"181 sources, about .* (hours|minutes).*--prebuilt.*--build"
    ) as stopped:
        spec("fused_moe_90", sources=181).build(False)
    assert stopped.value.reason == "not_run"


def test_a_build_of_hours_is_started_on_request_or_where_it_is_done_already(flashinfer, tmp_path):
    spec, _ = flashinfer(build=True)
    assert spec("fused_moe_90", sources=181).build(False)
    spec, _ = flashinfer()
    for number in range(181):
        (tmp_path / f"{number}.cuda.o").touch()
    assert spec("fused_moe_90", sources=181, place=tmp_path).build(False)


def test_a_build_is_announced_once_however_often_it_is_met(flashinfer):
    flashinfer()
    spec, told = flashinfer()
    told.clear()
    spec("xqa", sources=5).build(False)
    assert [facts["stage"] for facts in told] == ["build", "first_call"]


def test_where_nothing_shall_be_compiled_only_what_is_there_is_taken(flashinfer):
    spec, _ = flashinfer(no_build=True)
    with pytest.raises(
        trial.Stopped, match=r"xqa is not there.*workbench prebuild.*--prebuilt DIR"
    ) as stopped:
        spec("xqa", sources=5).build(False)
    assert stopped.value.reason == "not_run"
    there = spec("xqa", sources=5)
    there.is_compiled = True
    assert there.build(False) == "built xqa"


def test_a_refusal_that_the_library_has_caught_is_not_lost(flashinfer):
    spec, told = flashinfer(no_build=True)
    builds.caught()
    with contextlib.suppress(Exception):
        spec("trtllm_utils", sources=2).build(False)
    assert any("trtllm_utils is not there" in each.get("refused", "") for each in told)
    with pytest.raises(trial.Stopped, match="trtllm_utils is not there"):
        builds.caught()
    flashinfer()  # the next trial
    builds.caught()


def test_a_module_built_ahead_is_taken_and_told(flashinfer):
    spec, told = flashinfer(prebuilt={"fused_moe_90": "/some/where.so"})
    assert spec("fused_moe_90", sources=181).aot_path == Path("/some/where.so")
    assert spec("xqa", sources=5).aot_path == Path("data/aot/xqa")
    assert builds.used("k.py") == ["fused_moe_90"]
    assert {"prebuilt": ["fused_moe_90"]} in told


def test_the_artifacts_that_070_loads_are_the_modules_built_ahead(monkeypatch):
    monkeypatch.setattr(builds, "_NOW", {})
    made = packages()
    Artifact = collections.namedtuple("AOTArtifact", "provider_id path cuda_architectures")
    for name, held in (("core", vars(made)), ("env", {"AOTArtifact": Artifact})):
        module = types.ModuleType(f"flashinfer.jit.{name}")
        vars(module).update(held)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    command = {"kernel_file": "k.py", "prebuilt": {"xqa": "/some/where.so"}}
    builds.announce(trial.Stage(lambda **_: None), lambda **_: None, command, trial.Stopped)
    # Of no architecture: such an artifact is loaded without a look at the GPU.
    assert made.JitSpecNvcc("xqa", 5).aot_artifacts == (("workbench", Path("/some/where.so"), None),)
    assert made.JitSpecNvcc("page", 5).aot_artifacts == ()


def test_a_module_built_ahead_that_the_library_does_not_take_is_not_compiled_in_its_place(flashinfer):
    spec, _ = flashinfer(prebuilt={"xqa": "/some/torn.so"})
    with pytest.raises(trial.Stopped, match=r"did not take the module xqa .*prebuild"):
        spec("xqa", sources=5).build(False)


TAKEN = """
import sys
from flashinfer.jit.page import gen_page_module
from workbench.worker import builds, trial
command = {"kernel_file": "k", "prebuilt": {"page": sys.argv[1]}}
builds.announce(trial.Stage(lambda **_: None), lambda **_: None, command, trial.Stopped)
print(gen_page_module().get_library_path(), builds.used("k"))
"""


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="there is no torch to inherit")
@pytest.mark.parametrize("version", ["0.6.11.post1", "0.6.18.post1", "0.7.0.post1"])
def test_real_releases_take_a_module_built_ahead(tmp_path, version):
    built = build(parse(f"flashinfer=={version}"), folder=tmp_path)
    (tmp_path / "page.so").touch()
    given = {**os.environ, **built.variables, "FLASHINFER_CUDA_ARCH_LIST": "9.0a"}
    given.update(PYTHONPATH=str(Path(workbench.__file__).parents[1]), FLASHINFER_WORKSPACE_BASE=str(tmp_path))
    command = [built.python, "-c", TAKEN, tmp_path / "page.so"]
    said = subprocess.run(command, env=given, capture_output=True, text=True)
    assert said.stdout.split("\n")[-2:] == [f"{tmp_path / 'page.so'} ['page']", ""], said.stderr
