import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workbench import files, reading


def test_a_full_disk_leaves_the_file_from_before_and_names_it(tmp_path, monkeypatch):
    file = tmp_path / "made" / "repro.py"
    files.write(file, "before")

    def half(self, data):
        with self.open("wb") as opened:
            opened.write(data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match=r"No space left on device: '.*repro.py'"):
        files.write(file, "after")
    assert file.read_bytes() == b"before"
    assert [each.name for each in file.parent.iterdir()] == ["repro.py"]


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError):
        files.write(tmp_path, "text")
    assert tmp_path.is_dir()


def test_a_stream_is_written_to_and_stays(tmp_path):
    files.write(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()


def test_a_pipe_that_nobody_reads_is_said(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"No such device or address: '.*pipe'"):
        files.write(tmp_path / "pipe", "text")


def test_a_pipe_that_somebody_reads_is_written_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    held = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)  # there is a reader, whoever comes first
    with ThreadPoolExecutor() as beside:
        heard = beside.submit(reading.read, tmp_path / "pipe")
        files.write(tmp_path / "pipe", "text " * 100_000)  # more than a pipe holds
        assert heard.result() == b"text " * 100_000
    os.close(held)


def test_a_folder_in_which_nothing_can_be_written_is_said(tmp_path, monkeypatch):
    files.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    monkeypatch.setattr(os, "access", lambda place, how: False)  # root may write anywhere
    with pytest.raises(PermissionError, match="nothing can be written here"):
        files.make_folder(tmp_path)


def test_what_a_link_leads_to_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    files.write(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"
