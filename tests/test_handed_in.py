"""Files that are handed in and are none: a pipe that nobody writes, a device, a link to itself. None may hang."""

import os
import sys
import threading
from pathlib import Path

import pytest
from made_wheels import make_wheel

from workbench import prebuilt, reading
from workbench.bundling import Item, write
from workbench.environments import pins

ZOO = Path(__file__).parent / "kernels"
RUN = ("run", "--kernel-file", ZOO / "absent.py", "--dry-run")
HERE = ("--python", sys.executable)
pytestmark = pytest.mark.timeout(30)


@pytest.fixture
def pipe(tmp_path, monkeypatch):
    """A pipe that nobody writes, and whoever waits for it waits not long."""
    monkeypatch.setattr(reading, "WAIT_S", 0.2)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_pipe_is_read_to_its_end_though_its_writer_comes_late(pipe, monkeypatch):
    monkeypatch.setattr(reading, "WAIT_S", 20)
    writer = threading.Timer(0.3, pipe.write_text, ["said " * 50_000])
    writer.start()
    assert reading.read(pipe) == b"said " * 50_000
    writer.join()


def test_a_pipe_without_an_end_is_said(pipe):
    held = os.open(pipe, os.O_RDWR)
    os.write(held, b"some")
    with pytest.raises(OSError, match="nobody writes, or not to its end") as problem:
        reading.read(pipe)
    os.close(held)
    assert problem.value.filename == str(pipe)


@pytest.mark.parametrize("place", ["/dev/zero", "a file"])
def test_what_is_longer_than_such_files_are_is_not_read_to_its_end(tmp_path, monkeypatch, place):
    monkeypatch.setattr(reading, "MOST_BYTES", 2 << 20)
    (tmp_path / "a file").write_bytes(bytes(4 << 20))
    with pytest.raises(OSError, match="longer than 2 MiB"):
        reading.read(tmp_path / place)


COMMANDS = {
    "cases": (*RUN, *HERE, "--cases"),
    "plan": ("run", "--dry-run", "--plan"),
    "stacks": (*RUN, "--environment", "candidate", "--stacks"),
    "bundle": ("run", "--bundle"),
    "policy": ("compare", ".", "--baseline", "a", "--candidate", "b", "--policy"),
    "judge": ("judge",),
    "expected": ("doctor", *HERE, "--expect"),
    "clusters": (
        "submit",
        "--cluster",
        "local",
        "--kernel-file",
        ZOO / "absent.py",
        *HERE,
        "--constraint-map",
    ),
    "drift": ("drift", "--to", "small==1.0", "--from"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_does_not_wait_for_ever_for_a_pipe(pipe, tmp_path, words, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = pipe.rename(tmp_path / "pipe.whl") if words[0] == "drift" else pipe
    code, _, said = typed(*words, file)
    assert code == 2
    assert file.name in said and "Traceback" not in said


WITH_WHEELS = {
    "run": (*RUN, "--environment", "small==1.0"),
    "doctor": ("doctor", "--environment", "small==1.0"),
    "claims": ("claims", "--environment", "small==1.0"),
    "drift": ("drift", "--from", "small==1.0", "--to", "small==2.0"),
    "callsites": ("callsites", ".", "--from", "small==1.0", "--to", "small==2.0"),
    "stack": ("stack", "sglang==0.5"),
}


@pytest.mark.parametrize("words", WITH_WHEELS.values(), ids=WITH_WHEELS)
def test_a_pipe_among_the_wheels_is_said_before_anybody_opens_it(pipe, tmp_path, words, typed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_wheel(tmp_path / "wheels", "small", "1.0", {"small.py": ""})
    pipe.rename(tmp_path / "wheels" / "small-2.0-py3-none-any.whl")
    code, _, said = typed(*words, "--wheels", tmp_path / "wheels")
    assert code == 2
    assert "'small-2.0-py3-none-any.whl' is a pipe" in said


def test_pins_that_are_a_pipe_are_none(pipe):
    assert pins._read(pipe) is None


@pytest.mark.parametrize("name", ["m.so", "m.so.xz"])
def test_a_module_that_is_a_pipe_is_refused(pipe, tmp_path, name):
    home = tmp_path / "modules" / "sm90a" / "flashinfer-0.1" / "m"
    home.mkdir(parents=True)
    pipe.rename(home / name)
    with pytest.raises(ValueError, match="is no file, and so no module"):
        prebuilt.modules(tmp_path / "modules", "0.1", "9.0", tmp_path / "unpacked")


def test_a_pipe_is_not_put_into_a_bundle(pipe, tmp_path):
    with pytest.raises(ValueError, match="pipe is no file"):
        write([Item("a", pipe, "test")], {}, "3.12", tmp_path / "b.zip", None)
    assert not (tmp_path / "b.zip").exists()


def test_a_kernel_file_that_leads_to_itself_is_no_kernel_file(tmp_path, typed):
    (tmp_path / "k.py").symlink_to("k.py")
    code, _, said = typed("run", "--kernel-file", tmp_path / "k.py", *HERE)
    assert (code, said) == (2, f"workbench: no kernel file {tmp_path / 'k.py'}\n")


def test_an_interpreter_that_is_no_file_is_no_interpreter(tmp_path, typed, pipe):
    pipe.chmod(0o755)
    code, _, said = typed(*RUN, "--python", pipe)
    assert code == 2
    assert "there is no interpreter" in said
