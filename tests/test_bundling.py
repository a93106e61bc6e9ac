"""A bundle there and back, and bundles that were damaged or made to do harm."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from workbench import bundling, cli
from workbench.bundling import BadBundle, Item, collecting, opening, unpack
from workbench.commands import _plan
from workbench.commands import run as command

ZOO = Path(__file__).parent / "kernels"
FILES = {
    "wheels/small-1.0-py3-none-any.whl": b"w" * 5000,
    "workbench/__init__.py": b"x = 1\n" * 500,
    "a.txt": b"a",
}


@pytest.fixture
def made(tmp_path):
    """A bundle of three files."""
    items = []
    for path, data in FILES.items():
        source = tmp_path / "sources" / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_bytes(data)
        items.append(Item(path, source, "test"))
    written = bundling.write(
        items, {"mode": ["eager"], "environment": ["here"]}, "3.12", tmp_path / "b.zip", None
    )
    return written.file


def rewritten(bundle, change):
    """The bundle with its entries and manifest as `change(entries, manifest)` leaves them."""
    with zipfile.ZipFile(bundle) as archive:
        entries = [
            (each, archive.read(each)) for each in archive.infolist() if each.filename != "manifest.json"
        ]
        manifest = json.loads(archive.read("manifest.json"))
    change(entries, manifest)
    with zipfile.ZipFile(bundle, "w") as archive:
        for entry, data in entries:
            archive.writestr(entry, data)
        archive.writestr("manifest.json", json.dumps(manifest))


def test_what_is_packed_comes_out_as_it_was(made, tmp_path):
    opened = unpack(made, tmp_path / "opened")
    assert {path: (opened.root / path).read_bytes() for path in FILES} == FILES
    assert (opened.plan["mode"], opened.python) == (["eager"], "3.12")


def test_a_bundle_is_unpacked_once_and_again_only_when_changed(made, tmp_path):
    root = unpack(made, tmp_path / "opened").root
    (root / "mark").touch()
    assert unpack(made, tmp_path / "opened").root == root and (root / "mark").exists()
    (root / "a.txt").write_bytes(b"b")
    assert (unpack(made, tmp_path / "opened").root / "a.txt").read_bytes() == b"a"


def test_the_same_files_make_the_same_bundle_to_the_byte(made, tmp_path):
    before = made.read_bytes()
    items = [Item(path, tmp_path / "sources" / path, "test") for path in FILES]
    bundling.write(items, {"mode": ["eager"], "environment": ["here"]}, "3.12", made, None)
    assert made.read_bytes() == before


def changed(entries, manifest):
    entries[0] = (entries[0][0], b"v" * 5000)


def longer(entries, manifest):
    entries[2] = (entries[2][0], b"a" * 100)


def unnamed(entries, manifest):
    entries.append((zipfile.ZipInfo("more.txt"), b"more"))


def left_out(entries, manifest):
    del entries[1]


def escaping(name):
    def change(entries, manifest):
        entries.append((zipfile.ZipInfo(name), b"a"))
        manifest["files"].append({**manifest["files"][2], "path": name})

    return change


def linked(entries, manifest):
    entries[2][0].external_attr = (stat.S_IFLNK | 0o777) << 16


def other_schema(entries, manifest):
    manifest["schema"] = 99


def no_files(entries, manifest):
    del manifest["files"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changed, "damaged, or changed"),
        (longer, "another size"),
        (unnamed, "do not name the same files: 'more.txt'"),
        (left_out, "do not name the same files"),
        (escaping("../over.txt"), "outside its folder"),
        (escaping("/tmp/over.txt"), "outside its folder"),
        (escaping("a/../../over.txt"), "outside its folder"),
        (escaping("a//b.txt"), "outside its folder"),
        (linked, "no plain file"),
        (other_schema, "schema 99"),
        (no_files, "cannot be read"),
    ],
)
def test_a_bundle_that_was_tampered_with_is_refused_and_leaves_nothing(made, tmp_path, change, why):
    rewritten(made, change)
    with pytest.raises(BadBundle, match=why):
        unpack(made, tmp_path / "deep" / "opened")
    assert not list((tmp_path / "deep").rglob("*.txt")) and not (tmp_path / "over.txt").exists()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_a_bundle_that_is_cut_off_is_refused(made, tmp_path, share):
    data = made.read_bytes()
    made.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(BadBundle, match="no whole bundle"):
        unpack(made, tmp_path / "opened")


def test_every_damaged_byte_of_a_small_bundle_is_harmless(made, tmp_path):
    """It is refused, or what comes out is still what went in (a date, say)."""
    data = made.read_bytes()
    for place in range(0, len(data), 61):
        made.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            opened = unpack(made, tmp_path / "opened")
        except BadBundle:
            continue
        assert {path: (opened.root / path).read_bytes() for path in FILES} == FILES


def test_a_bundle_that_is_too_large_says_what_does_not_fit_and_writes_nothing(made, tmp_path):
    before = made.read_bytes()
    items = [Item(path, tmp_path / "sources" / path, "test") for path in FILES]
    with pytest.raises(bundling.TooLarge) as problem:
        bundling.write(items, {}, "3.12", made, limit_bytes=4000)
    assert [row["path"] for row in problem.value.left_out] == ["wheels/small-1.0-py3-none-any.whl"]
    assert made.read_bytes() == before and not list(tmp_path.glob(".bundling-*"))


def test_no_room_to_unpack_says_where(made, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(opening, "_copy", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*opened'"):
        unpack(made, tmp_path / "opened")
    assert not list((tmp_path / "opened").iterdir())


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ('{"kernels": []}', "has 'kernels', which `workbench run` has not"),
        ('{"kernel": "fp4_quantize"}', "'kernel' is 'fp4_quantize'"),
        ('{"interleave": "yes"}', "'interleave' is 'yes'"),
        ('{"effort": "none"}', "'effort' is 'none': invalid choice"),
        ('{"effort": null}', "'effort' is 'None': invalid choice"),
        ('{"memory_mb": 1.5}', "'memory_mb' is '1.5': invalid int value"),
        ('{"memory_mb": 1e30}', "'memory_mb' is '1e\\+30': invalid int value"),
        ('{"gpu": "0"}', "'gpu' is '0'; `workbench run` takes it as 0"),
        ('{"arms": "two"}', "'arms' is 'two': invalid int value"),
        ('{"generations": true}', "'generations' is 'True'"),
        ('{"generations": 2.5}', "'generations' is '2.5': invalid int value"),
        ('{"l2": 3}', "'l2' is '3': invalid choice"),
        ('{"results": null}', "'results' is None; `workbench run` takes it as 'None'"),
        ('{"wheels": 7}', "'wheels' is 7; `workbench run` takes it as '7'"),
        ('{"python": ["python"]}', "'python' is"),
        ('{"as_of": {"a": 1}}', "'as_of' is"),
        ("[]", "one object"),
        ("{", "not JSON"),
    ],
)
def test_a_plan_is_checked(tmp_path, plan, why):
    (tmp_path / "plan.json").write_text(plan)
    with pytest.raises(ValueError, match=why):
        _plan.read(tmp_path / "plan.json", command.defaults_of_run())


def test_a_plan_may_say_all_that_the_command_line_may(tmp_path):
    plan = {
        "mode": ["eager", "--x"], "effort": "quick", "l2": "warm", "gpu": 1, "generations": 3, "memory_mb": 700,
        "interleave": True, "wheels": "-w", "python": None, "no_build": False, "limit": ["build=5"], "results": "a b",
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert _plan.read(tmp_path / "plan.json", command.defaults_of_run()) == plan


def test_what_is_said_now_goes_before_the_plan():
    defaults = {"mode": [], "gpu": 0, "effort": "default"}
    plan = {"mode": ["eager"], "effort": "quick"}
    assert _plan.merged(plan, {**defaults, "effort": "thorough"}, defaults) == {
        "mode": ["eager"], "gpu": 0, "effort": "thorough",
    }  # fmt: skip


def test_a_bundle_compiles_nothing_and_takes_its_own_files(made, tmp_path):
    plan = bundling.placed(unpack(made, tmp_path / "opened"))
    assert (plan["no_build"], plan["environment"]) == (True, ["here"])
    assert Path(plan["wheels"], "small-1.0-py3-none-any.whl").is_file() and "prebuilt" not in plan


def test_a_plan_names_only_what_is_in_its_bundle(made, tmp_path):
    rewritten(made, lambda entries, manifest: manifest["plan"].update(kernel_file=["../mine.py"]))
    with pytest.raises(BadBundle, match=r"names '\.\./mine.py', which is not in it"):
        bundling.placed(unpack(made, tmp_path / "opened"))


def test_a_kernel_comes_with_what_it_is_made_of(tmp_path):
    for name, text in (
        ("mine", "from . import part"),
        ("part", "from . import _a"),
        ("_a", ""),
        ("other", ""),
    ):
        (tmp_path / f"{name}.py").write_text(f"{text}\n")
    items, plan = collecting._users({"kernel_file": [str(tmp_path / "mine.py")], "environment": []})
    assert {each.path for each in items} == {"files/mine.py", "files/part.py", "files/_a.py"}
    assert plan["kernel_file"] == ["files/mine.py"]


def small_wheel(folder):
    """A package of one module, with the function that the kernel below asks for."""
    folder.mkdir()
    info = "small-1.0.dist-info"
    with zipfile.ZipFile(folder / "small-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small.py", "from math import sqrt as root\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"small.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


@pytest.mark.slow
@pytest.mark.parametrize("start", ["the bundle alone", "a checkout"])
def test_a_plan_runs_from_its_bundle_without_a_network(tmp_path, monkeypatch, capsys, start):
    monkeypatch.setattr(collecting, "NEEDS", ())  # this machine has them
    monkeypatch.chdir(tmp_path)
    small_wheel(tmp_path / "wheels")
    kernel = tmp_path / "roots.py"
    kernel.write_text((ZOO / "misbehaving.py").read_text().replace("math.sqrt", "small.root"))
    (tmp_path / "cases.json").write_text('[{"how": "right", "place": 1}, {"how": "wrong", "place": 2}]')
    words = [
        "--kernel-file",
        kernel,
        "--cases",
        "cases.json",
        "--environment",
        "small==1.0",
        "--wheels",
        "wheels",
    ]
    assert (
        cli.main([str(each) for each in ["bundle", *words, "--effort", "quick", "--output", "plan.zip"]]) == 0
    )
    assert "wheel: wheels/small-1.0" in capsys.readouterr().out
    node = tmp_path / "node"
    node.mkdir()
    shutil.move(tmp_path / "plan.zip", node)
    for each in ("wheels", "roots.py", "cases.json"):  # the node has the bundle and nothing else
        shutil.move(tmp_path / each, tmp_path / f"gone-{each}")
    entry = (
        ["plan.zip"] if start == "the bundle alone" else ["-m", "workbench", "run", "--bundle", "plan.zip"]
    )
    checkout = {} if start == "the bundle alone" else {"PYTHONPATH": str(Path(bundling.__file__).parents[2])}
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *entry, "--results", "out", "--memory-mb", "700"],
        cwd=node, env={**variables, **checkout, "ALL_PROXY": "http://127.0.0.1:9"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "1 ok, 1 wrong" in done.stdout, done.stderr
    assert done.returncode == 1


def test_a_bundle_that_is_refused_ends_the_command_with_2(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made.write_bytes(made.read_bytes()[:-30])
    assert cli.main(["run", "--bundle", str(made)]) == 2
    assert "no whole bundle" in capsys.readouterr().err


def test_a_folder_without_a_fitting_module_is_said_at_once(tmp_path):
    wheels, built = tmp_path / "wheels", tmp_path / "modules"
    wheels.mkdir()
    (wheels / "flashinfer_python-0.6.11.post1-py3-none-any.whl").touch()
    module = built / "flashinfer-0.6.11.post1" / "sm90a" / "fp4.so"
    module.parent.mkdir(parents=True)
    with pytest.raises(ValueError, match=r"has no module for these environments and 9\.0a"):
        collecting._built_ahead(built, "9.0a", wheels)
    module.touch()
    assert [item.source for item in collecting._built_ahead(built, "9.0a", wheels)] == [module]
