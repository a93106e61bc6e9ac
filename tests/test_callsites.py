"""Call sites: every way of calling, both directions, against two made-up versions; and released projects."""

import argparse
import importlib
import json
import re
from pathlib import Path

import pytest
from made_wheels import OLD, old_and_new, wheel

from workbench.drift import Library, open_release
from workbench.drift.callsites import callsites
from workbench.drift.tree import open_tree

CONSUMER = Path(__file__).parent / "consumer"


@pytest.fixture
def command():
    """Runs a command file as the command line does: `command("drift", "--from", ...)` -> exit code."""

    def run(name, *arguments):
        module = importlib.import_module(f"workbench.commands.{name}")
        parser = argparse.ArgumentParser()
        module.arguments(parser)
        return module.run(parser.parse_args(arguments))

    return run


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return old_and_new(tmp_path_factory.mktemp("wheels"))


def sites(path, wheels, back=False):
    old, new = (Library(open_tree(each)) for each in (reversed(wheels) if back else wheels))
    return callsites(open_tree(path), old, new)


def expected(file, direction):
    found = {}
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        notes = re.findall(rf"# {direction} ([\w+]+)", line)
        if notes:
            found[number] = set(notes[0].split("+"))
    return found


@pytest.mark.parametrize("direction", ["forth", "back"])
@pytest.mark.parametrize("file", sorted(file.stem for file in (CONSUMER / "project").glob("*.py")))
def test_every_way_of_calling(file, direction, wheels, read):
    found = {}
    for each in read[direction]:
        if each.file == f"project/{file}.py" and each.verdict != "ok":
            found.setdefault(each.line, set()).add(each.verdict)
    assert found == expected(CONSUMER / "project" / f"{file}.py", direction)


@pytest.fixture(scope="module")
def read(wheels):
    return {
        "forth": sites(CONSUMER, wheels),
        "back": sites(CONSUMER, wheels, back=True),
    }


def detail(read, direction, text):
    """Of the first call in the file whose source line holds `text`."""
    for each in read[direction]:
        line = (CONSUMER / each.file).read_text().splitlines()[each.line - 1]
        if text in line and each.detail:
            return each.detail
    raise AssertionError(f"no call like {text}")


def test_details_say_which_parameter_and_why(read):
    said = detail(read, "forth", "fp4_quantize(x, s, 16, False, True, False, True)")
    assert "positional argument 7, True: enable_pdl became is_global_scale_inversed" in said
    assert "keyword is_global_scale_inversed" in detail(
        read, "back", "fp4_quantize(x, global_scale=s, is_glo"
    )
    assert "fits nothing at its own pin either" in detail(read, "forth", "fp4_quantize(x, global_scales=s)")
    assert "renamed to kv_cache_sf" in detail(read, "forth", "wrapper.run(a, a, kv_block_scales=a)")
    assert "hides it" in detail(read, "forth", "mxfp4_quantize, only_old")
    assert "does not import" in detail(read, "forth", "fp4_quantize(helper(x))")
    assert "through thin" in detail(read, "forth", "thinner(x, s, 16")
    assert "caught at line" in detail(read, "back", "fp4_quantize(x, is_global_scale_inversed=True)")


def test_a_default_that_changed_is_a_note_on_ok(read):
    notes = [each for each in read["forth"] if each.verdict == "ok" and "default of backend" in each.detail]
    assert notes and all("'cuda', now 'auto'" in each.detail for each in notes)


def test_one_file_alone_and_a_folder_inside_a_package(wheels):
    alone = sites(CONSUMER / "project" / "plain.py", wheels)
    assert {each.file for each in alone} == {"plain.py"} and len(alone) > 20
    inside = sites(CONSUMER / "project", wheels)
    assert any(each.file == "far.py" and each.verdict == "shifts" for each in inside)


def test_a_wheel_is_read_as_it_is(tmp_path, wheels):
    files = {file.name: file.read_text() for file in (CONSUMER / "project").glob("*.py")}
    packed = wheel(tmp_path, "0.1", files, name="project", package="project")
    packed_sites = sites(packed, wheels)
    assert {(each.file, each.line, each.verdict) for each in packed_sites} == {
        (each.file, each.line, each.verdict) for each in sites(CONSUMER, wheels)
    }


def test_what_is_no_python_is_said(tmp_path, wheels):
    (tmp_path / "bad.py").write_text("import flashinfer\nprint flashinfer\n")
    found = sites(tmp_path, wheels)
    assert [(each.verdict, each.file) for each in found] == [("unknown", "bad.py")]
    assert "not read" in found[0].detail


def test_conditional_definitions_are_unknown_where_they_differ(tmp_path):
    twice = "if FAST:\n    def f(x, y):\n        pass\nelse:\n    def f(x):\n        pass\n"
    old = wheel(tmp_path, "1.0", {"__init__.py": "def f(x, y):\n    pass\n"})
    new = wheel(tmp_path, "2.0", {"__init__.py": twice})
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "use.py").write_text("from flashinfer import f\nf(1, 2)\n")
    found = sites(tmp_path / "c", (old, new))
    assert [each.verdict for each in found] == ["unknown"]


def test_the_command(tmp_path, capsys, wheels, command):
    code = command("callsites", str(CONSUMER), "--from", str(wheels[0]), "--to", str(wheels[1]), "--json")
    rows = json.loads(capsys.readouterr().out)
    assert code == 1
    assert set(rows[0]) == {"file", "line", "function", "verdict", "detail"}
    assert {row["verdict"] for row in rows} == {"ok", "breaks", "shifts", "missing", "unknown"}
    (tmp_path / "fine.py").write_text("import flashinfer\nflashinfer.fp4_quantize(1)\n")
    assert (
        command("callsites", str(tmp_path / "fine.py"), "--from", str(wheels[0]), "--to", str(wheels[1])) == 0
    )
    with pytest.raises(ValueError, match="no Python file"):
        (tmp_path / "empty").mkdir()
        command("callsites", str(tmp_path / "empty"), "--from", str(wheels[0]), "--to", str(wheels[1]))


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("flashinfer.never_there(1)", 0, "1 missing (1 already so)"),
        ("from flashinfer import never_there", 0, "1 missing (1 already so)"),
        ("flashinfer.fp4_quantize()", 0, "1 breaks (1 already so)"),
        ("flashinfer.never_there(1)\nflashinfer.decode.gone_soon(1)", 1, "2 missing (1 already so)"),
    ],
)
def test_only_what_is_new_is_held_against_the_other_version(
    tmp_path, capsys, wheels, command, text, code, said
):
    (tmp_path / "c.py").write_text(f"import flashinfer\nimport flashinfer.decode\n\n{text}\n")
    got = command("callsites", str(tmp_path / "c.py"), "--from", str(wheels[0]), "--to", str(wheels[1]))
    out = capsys.readouterr().out
    assert (got, said in out.splitlines()[0]) == (code, True), out


@pytest.mark.parametrize("words", [("drift",), ("callsites", str(CONSUMER))])
def test_two_packages_are_not_compared(tmp_path, wheels, command, words):
    other = wheel(tmp_path, "1.0", {"__init__.py": "def f():\n    pass\n"}, name="other", package="other")
    with pytest.raises(ValueError, match=r"\(flashinfer\) and other 1.0 \(other\) have no package in common"):
        command(*words, "--from", str(wheels[0]), "--to", str(other))


def test_releases_come_from_a_folder_of_wheels_alone(tmp_path, wheels):
    tree = open_release("flashinfer==1.0", wheels=wheels[0].parent, folder=tmp_path)
    assert (tree.name, tree.version, tree.packages()) == ("flashinfer-python", "1.0", ["flashinfer"])
    with pytest.raises(ValueError, match=r"no flashinfer_python-9\.9"):
        open_release("flashinfer==9.9", wheels=wheels[0].parent, folder=tmp_path)
    with pytest.raises(ValueError, match="pin it"):
        open_release("flashinfer", folder=tmp_path)


def test_the_old_version_is_one_with_nothing_changed(wheels, tmp_path):
    again = wheel(tmp_path, "1.0", OLD)
    found = sites(CONSUMER, (wheels[0], again))
    bad = [each for each in found if each.verdict == "shifts"]
    assert not bad


@pytest.mark.network
def test_sglang_0_5_12_against_its_own_pin_and_the_one_before():
    old, new = (Library(open_release(f"flashinfer=={each}")) for each in ("0.6.11.post1", "0.6.8.post1"))
    consumer = open_release("sglang==0.5.12")
    found = callsites(consumer, old, new)
    broken = [(each.function.rpartition(".")[2], each.detail) for each in found if each.verdict == "breaks"]
    assert [name for name, _ in broken] == ["create_allreduce_fusion_workspace"]
    assert "group" in broken[0][1]
    missing = {each.function.rpartition(".")[2] for each in found if each.verdict == "missing"}
    assert missing == {
        "interleave_moe_scales_for_sm90_mixed_gemm",
        "interleave_moe_weights_for_sm90_mixed_gemm",
        "_grouped_size_compiled_for_decode_kernels",
    }
    assert sum(each.verdict == "ok" for each in found) > 150
