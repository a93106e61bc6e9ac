"""Doctor: skews from made-up fingerprints, the probe in a real interpreter, and pins that are expected."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench import doctor
from workbench.commands import doctor as command
from workbench.doctor import Fingerprint, examine, read_expected

SOUND = {
    "python": "3.12.3",
    "packages": {
        "flashinfer-python": "0.6.11.post1",
        "flashinfer-cubin": "0.6.11.post1",
        "torch": "2.11.0+cu130",
        "triton": "3.6.0",
        "apache-tvm-ffi": "0.1.11",
        "nvidia-cutlass-dsl": "4.5.0",
        "nvidia-cutlass-dsl-libs-base": "4.5.0",
        "flashinfer-jit-cache": "0.6.11.post1+cu130",
    },
    "twice": {},
    "requires": {
        "flashinfer-python": ["apache-tvm-ffi<0.2,!=0.1.8,>=0.1.6", "nvidia-cutlass-dsl>=4.5.0", "torch"],
        "torch": ["triton==3.6.0 ; platform_system == 'Linux'", "setuptools ; python_version < '3.11'"],
    },
    "torch_cuda": "13.0",
    "flashinfer": "/site/flashinfer",
    "triton_kernels": {
        "hash": "ab",
        "files": 30,
        "routing": False,
        "matmul_ogs": True,
        "matmul": False,
        "microblock": False,
    },
    "shadows": [],
    "cutlass_dsl": {
        "versions": {"nvidia-cutlass-dsl": "4.5.0", "nvidia-cutlass-dsl-libs-base": "4.5.0"},
        "shared": 0,
        "present": {},
    },
    "nvcc": {"path": "/usr/local/cuda/bin/nvcc", "version": "13.0"},
    "driver": "580.159.04",
    "variables": {},
    "cache": {
        "path": "/base/.cache/flashinfer",
        "own": True,
        "writable": True,
        "others": False,
        "mine": True,
    },
    "artifacts": {
        "installed": "0.6.11.post1",
        "fetched": False,
        "download": True,
        "reachable": False,
        "text": "timeout",
    },
}


def made(**changes):
    """The sound fingerprint with some facts replaced; packages are added to, None takes one away."""
    facts = json.loads(json.dumps(SOUND))
    packages = changes.pop("packages", {})
    facts["packages"] = {name: value for name, value in (facts["packages"] | packages).items() if value}
    for name, value in changes.items():
        facts[name] = {**facts[name], **value} if isinstance(value, dict) and name != "twice" else value
    return examine("made up", Fingerprint(facts))


def test_a_sound_environment_has_nothing_against_it():
    report = made()
    assert report.skews == ()
    assert "nothing out of step" in repr(report)


@pytest.mark.parametrize(
    ("changes", "name", "words"),
    [
        ({"packages": {"flashinfer-cubin": "0.6.8.post1"}}, "flashinfer-cubin", "refuses to be imported"),
        ({"packages": {"flashinfer-jit-cache": "0.6.8+cu130"}}, "flashinfer-jit-cache", "refuses"),
        ({"packages": {"triton": "3.7.1"}}, "triton", "torch requires ==3.6.0"),
        ({"packages": {"apache-tvm-ffi": "0.1.8"}}, "apache-tvm-ffi", "exact layout"),
        ({"packages": {"nvidia-cutlass-dsl": "4.4.2"}}, "nvidia-cutlass-dsl", ">=4.5.0"),
        ({"packages": {"triton-kernels": "0.1.0"}}, "triton-kernels", "unrelated project"),
        ({"packages": {"sglang-kernel": "0.4.2", "sgl-kernel": "0.4.1"}}, "sgl-kernel", "two names"),
        ({"twice": {"torch": ["2.11.0", "2.10.0"]}}, "torch", "recorded 2 times"),
        ({"nvcc": {"version": "12.9"}}, "nvcc", "nvcc 12.9 beside a torch for CUDA 13.0"),
        ({"nvcc": {"version": "12.6"}, "torch_cuda": "12.6"}, "nvcc", "FP4 is left out"),
        ({"driver": "570.86.15"}, "driver", "too old"),
        ({"cache": {"writable": False}}, "cache", "cannot be written"),
        ({"cache": {"others": True}}, "cache", "by everyone"),
        ({"shadows": [{"name": "flashinfer", "folder": "/checkout"}]}, "flashinfer", "imports it instead"),
        ({"triton_kernels": {"matmul": True, "microblock": True}}, "triton_kernels", "older Triton"),
        (
            {
                "cutlass_dsl": {
                    "versions": {"nvidia-cutlass-dsl": "4.5.0", "nvidia-cutlass-dsl-libs-base": "4.4.2"}
                }
            },
            "nvidia-cutlass-dsl-libs-base",
            "different releases",
        ),
        ({"python": "3.11.4", "packages": {"flashinfer-python": "0.6.16"}}, "Python", "below Python 3.12"),
    ],
)
def test_each_skew_says_why_and_what_to_do(changes, name, words):
    report = made(**changes)
    (found,) = [each for each in report.against if each.name == name and words in f"{each.what} {each.why}"]
    assert found.fix and found.why


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"variables": {"FLASHINFER_DISABLE_VERSION_CHECK": "0"}}, "FLASHINFER_DISABLE_VERSION_CHECK"),
        ({"cache": {"own": False}}, "shared by all environments"),
        ({"nvcc": {"version": "", "path": ""}}, ""),
        (
            {"packages": {"flashinfer-cubin": None}, "artifacts": {"installed": ""}},
            "artifact server cannot be reached",
        ),
        ({"triton_kernels": {"routing": True}}, "of Triton 3.5"),
    ],
)
def test_notes_do_not_speak_against_an_environment(changes, words):
    report = made(**changes)
    assert not report.against
    assert words in repr(report)


def test_a_local_label_is_no_skew():
    assert not made(packages={"flashinfer-cubin": "0.6.11.post1+cu130", "triton": "3.6.0+git1"}).against


def test_a_bypassed_check_changes_what_a_skew_means():
    report = made(packages={"flashinfer-cubin": "0.6.8"}, variables={"FLASHINFER_DISABLE_VERSION_CHECK": "1"})
    assert "used silently" in report.against[0].why
    assert report.fingerprint.summary()["version check"] == "bypassed"


def test_two_variants_of_cutlass_dsl_say_whose_files_lie_there():
    versions = {
        "nvidia-cutlass-dsl": "4.5.0",
        "nvidia-cutlass-dsl-libs-base": "4.5.0",
        "nvidia-cutlass-dsl-libs-cu13": "4.5.0",
    }
    report = made(cutlass_dsl={"versions": versions, "present": {"nvidia-cutlass-dsl-libs-cu13": 3}})
    assert any("those of nvidia-cutlass-dsl-libs-cu13" in each.what for each in report.skews)


def test_expected_pins(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text(
        "# pins\n-r other.txt\nflashinfer_python==0.6.11.post1\ntorch==2.11.0 # any CUDA\n"
        "triton>=3.7 ; python_version >= '3.9'\nnumpy==1.0 ; python_version < '3'\nsglang-kernel==0.4.2\n"
    )
    report = examine("made up", Fingerprint(SOUND), read_expected(file))
    assert [(each.name, each.what) for each in report.against] == [
        ("triton", "triton 3.6.0, expected >=3.7"),
        ("sglang-kernel", "sglang-kernel is not installed, expected ==0.4.2"),
    ]
    file.write_text("flashinfer==0.6.11.post1\ntorch @ file:///torch-2.12-py3-none-any.whl\n")
    report = examine("made up", Fingerprint(SOUND), read_expected(file))
    assert not report.against and any("not compared" in each.what for each in report.skews)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"torch=2.11\n", "write name==version"),
        (b"# nothing\n", "names no package"),
        (b"torch==2.11 \xff\n", "pins.txt is no text"),
        (b"triton_kernels@sglang-kernel==0.4.2\n", "write sglang-kernel==0.4.2"),
    ],
)
def test_expected_pins_that_cannot_be_read(tmp_path, content, says):
    file = tmp_path / "pins.txt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        read_expected(file)


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter with a FlashInfer that was never published, its cubins of another release, and a trap."""
    folder = tmp_path_factory.mktemp("interpreter")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    installed(site, "flashinfer_python", "0.6.11", "flashinfer", requires=["apache-tvm-ffi>=0.1.6"])
    installed(site, "flashinfer_cubin", "0.6.8", "flashinfer_cubin")
    installed(site, "triton_kernels", "0.1.0", "triton_kernels")
    (site / "flashinfer" / "jit").mkdir()
    (site / "flashinfer" / "jit" / "env.py").write_text(
        'FLASHINFER_CUBINS_REPOSITORY = "https://127.0.0.1:9/x"\n'
    )
    installed(site, "torch", "2.11.0+cu130", "torch", requires=["triton==3.6.0"])
    (site / "torch" / "version.py").write_text("from typing import Optional\ncuda: Optional[str] = '13.0'\n")
    return folder / "bin" / "python"


def installed(site: Path, name: str, version: str, module: str, requires=()):
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {each}" for each in requires)]
    (info / "METADATA").write_text("\n".join(lines) + "\n\nText.\n")
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n")
    (site / module).mkdir(exist_ok=True)
    (site / module / "__init__.py").write_text("raise SystemExit('nothing is imported by the doctor')\n")


def test_the_probe_reads_a_real_interpreter(python, tmp_path):
    (tmp_path / "triton.py").write_text("")
    found = doctor.take(python, {"FLASHINFER_WORKSPACE_BASE": str(tmp_path)}, tmp_path)
    assert found.version("flashinfer-python") == "0.6.11"
    assert found.facts["torch_cuda"] == "13.0"
    assert found.facts["shadows"] == [{"name": "triton", "folder": str(tmp_path)}]
    assert found.facts["artifacts"]["reachable"] is False
    assert found.facts["cache"]["own"] and found.facts["cache"]["writable"]
    names = {each.name for each in examine("made up", found).against}
    assert names >= {"flashinfer-cubin", "triton-kernels", "triton"}


def test_the_command(python, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("--python", str(python), "--json") == 1
    facts = json.loads(capsys.readouterr().out)
    assert set(facts) == {"environment", "fingerprint", "skews"}
    assert set(facts["skews"][0]) == {"name", "what", "why", "fix", "level"}
    (tmp_path / "pins.txt").write_text("packaging\n")
    assert run("--expect", "pins.txt") in (0, 1)
    with pytest.raises(ValueError, match="there is no interpreter"):
        run("--python", str(tmp_path / "nowhere" / "python"))
    assert "fix:" in repr(made(driver="400.10.1"))


def test_a_place_without_flashinfer_says_what_to_name(python, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "take", lambda *_: Fingerprint({**SOUND, "packages": {}}))
    assert run("--python", str(python)) in (1, 3)
    assert "no flashinfer here: name one with --environment" in capsys.readouterr().out.splitlines()[-1]
    monkeypatch.setattr(doctor, "take", lambda *_: Fingerprint(SOUND))
    assert run("--python", str(python)) == 0
    assert "no flashinfer" not in capsys.readouterr().out


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args(arguments))
