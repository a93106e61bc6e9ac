import errno
from pathlib import Path

import pytest

from workbench import files


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


def test_what_a_link_leads_to_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    files.write(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"
