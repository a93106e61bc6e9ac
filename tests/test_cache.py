"""The cache of results: the same Results as from the lines, and never anything worse than none."""

import json
import os
from dataclasses import replace
from pathlib import Path

import example_results as examples
import pytest
from hypothesis import given
from hypothesis import strategies as some

from workbench import cache, copying, store
from workbench.columns import packed, unpacked
from workbench.results import Results, Trial
from workbench.store import load, save_all

JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(2**60), 2**60)
    | some.floats(allow_nan=False)
    | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of results that has been quiet for a minute, with a problem in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "QUIET_S", -1)
    file = tmp_path / "results" / "one.jsonl"
    save_all(list(examples.results()), file)
    with file.open("ab") as lines:
        lines.write(b"not a result\n")
    assert file.stat().st_size > cache.SMALLEST
    return file


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were parsed, in order."""
    files, parse = [], store._parsed
    monkeypatch.setattr(store, "_parsed", lambda file: files.append(file) or parse(file))
    return files


def loaded(file: Path) -> Results:
    return load(file.parent)


def copy_of(file: Path) -> Path:
    (copy,) = cache.place().iterdir()
    return copy


def test_the_cache_gives_what_the_lines_give(stored: Path, parsed: list[Path]) -> None:
    first, second = loaded(stored), loaded(stored)
    lines = [store.parse(line) for line in stored.read_bytes().splitlines()[:-1]]
    assert parsed == [stored]
    assert list(map(repr, first)) == list(map(repr, second)) == list(map(repr, lines))
    assert second.attempts == tuple(lines)
    assert first.problems == second.problems and "one.jsonl:" in second.problems[0]
    assert {type(each.trial) for each in second} == {Trial}


@given(some.lists(JSON, max_size=12))
def test_any_values_come_back_as_they_were(values: list[object]) -> None:
    arrays: list = []
    column = json.loads(json.dumps(packed(values, arrays)))
    assert repr(unpacked(column, arrays)) == repr(values)


def test_a_changed_file_is_read_anew(stored: Path, parsed: list[Path]) -> None:
    before = loaded(stored)
    save_all([replace(before.attempts[0], run="another")], stored)
    assert len(loaded(stored)) == len(before) + 1
    text = stored.read_bytes()
    times = stored.stat()
    stored.write_bytes(text.replace(b"made-up", b"made_up", 1))  # same size, and then the same time
    os.utime(stored, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert loaded(stored).attempts[0].run == "made_up"
    assert len(parsed) == 3


@pytest.mark.parametrize(
    "harm", ["torn", "flipped", "empty", "foreign", "of other code", "no file", "not ours"]
)
def test_a_copy_that_is_no_good_costs_time_alone(
    stored: Path, parsed: list[Path], harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = loaded(stored)
    copy = copy_of(stored)
    data = copy.read_bytes()
    body = b'{"stamp": 1, "columns": 5}\n'
    torn = {"torn": data[: len(data) // 2], "empty": b"", "foreign": cache._digest(body) + body}
    torn |= {"flipped": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]}
    if harm in torn:
        copy.write_bytes(torn[harm])
    elif harm == "no file":
        copy.unlink()
        copy.mkdir()
    elif harm == "not ours":
        monkeypatch.setattr(os, "geteuid", lambda: copy.stat().st_uid + 1)
    else:
        monkeypatch.setattr(cache, "_code", lambda: "another version")
    assert loaded(stored).attempts == before.attempts
    assert len(parsed) == 2


def test_a_cache_that_cannot_be_written_is_no_trouble(
    stored: Path, parsed: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    assert len(loaded(stored)) == len(loaded(stored)) > 0
    assert len(parsed) == 2


def test_a_name_in_no_known_letters_is_a_name(stored: Path) -> None:
    odd = stored.rename(os.fsdecode(os.fsencode(stored.parent) + b"/m\xff.jsonl"))
    assert len(load(odd.parent)) == len(list(examples.results()))
    assert cache.known(odd)


def test_a_file_that_may_still_change_is_not_kept(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "QUIET_S", 60)
    loaded(stored)
    assert not cache.place().exists()


def test_nothing_is_kept_beside_the_results_and_old_copies_go(stored: Path) -> None:
    loaded(stored)
    assert list(stored.parent.iterdir()) == [stored]
    old = cache.place() / "old"
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    save_all(loaded(stored).attempts[:1], stored)
    loaded(stored)
    assert not old.exists()


def test_what_is_equal_is_one_object(stored: Path) -> None:
    results = loaded(stored)
    trials = {id(each.trial) for each in results}
    assert len(trials) == len(results.trials())


def test_copies_are_made_before_they_are_asked_for(
    stored: Path, parsed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    class Made:
        """In place of a process: what it would do, here, where a file that was just written is quiet enough."""

        def __init__(self, command: list[str]) -> None:
            asked.append(command[3:])
            for file in command[3:]:
                store.load_file(Path(file))

        def wait(self) -> None:
            pass

    monkeypatch.setattr(copying.subprocess, "Popen", Made)
    copying.copy([stored.parent])
    assert not asked  # too little to start processes for
    monkeypatch.setattr(copying, "WORTH_IT", 1)
    copying.copy([stored.parent])
    copying.copy([stored.parent])
    assert asked == [[str(stored)]]
    assert len(loaded(stored)) and parsed == [stored]
