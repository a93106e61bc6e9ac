"""Environments, built for real with uv from small wheels made here; no network but for the marked test."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from made_wheels import make_wheel

from workbench.environments import (
    BuildError,
    Environment,
    build,
    changed,
    component,
    installer,
    parse,
    repack,
)
from workbench.environments.installer import decisive, redact
from workbench.environments.lock import CACHES


def flashinfer(
    folder: Path, version: str, text: str = "", requires: tuple[str, ...] = ("small>=1", "torch")
) -> Path:
    files = {"flashinfer/__init__.py": f"__version__ = {version!r}\nimport small, torch\n{text}"}
    return make_wheel(folder, "flashinfer_python", version, files, requires)


def put(site: Path, name: str, version: str, text: str) -> None:
    """An installed package, without an installer."""
    (site / f"{name}.py").write_text(text)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{name}.py,,\n{info.name}/METADATA,,\n")


def site_of(venv: Path) -> Path:
    return next(venv.glob("lib/python*/site-packages"))


def runs(python: Path, code: str) -> str:
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module", autouse=True)
def own_uv_cache(tmp_path_factory):
    # Tests edit installed files, and uv links those from its cache: the user's is none of ours.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_CACHE_DIR", str(tmp_path_factory.mktemp("uv")))
        yield


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> Path:
    """An interpreter that is a virtual environment, in a folder that is not easy, with a torch to inherit."""
    venv = tmp_path_factory.mktemp("höst of ünits") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    site = site_of(venv)
    put(site, "torch", "2.11.0", "where = 'höst'")
    put(site, "small", "1.0", "version = 'host'")
    put(site, "flashinfer_cubin", "0.9", "raise RuntimeError('made for another FlashInfer')")
    (site.parent / "linked").mkdir()
    (site.parent / "linked" / "checkout.py").write_text("there = True")
    (site / "editable.pth").write_text(str(site.parent / "linked"), encoding="utf-8")
    return venv / "bin" / "python"


@pytest.fixture
def wheels(tmp_path) -> Path:
    folder = tmp_path / "whéels of mine"
    flashinfer(folder, "0.1")
    make_wheel(folder, "small", "2.0", {"small.py": "version = 'own'"})
    return folder


@pytest.fixture
def make(tmp_path, host, wheels):
    def make(spec="flashinfer==0.1", **options):
        given = {"folder": tmp_path / "envs ü", "wheels": wheels, "inherit": str(host)} | options
        return build(parse(spec), **given)

    return make


@pytest.mark.parametrize(
    ("spec", "name", "requirements"),
    [
        ("flashinfer==0.6.8.post1", "flashinfer 0.6.8.post1", ("flashinfer-python==0.6.8.post1",)),
        ("flashinfer-python==0.7.0", "flashinfer 0.7.0", ("flashinfer-python==0.7.0",)),
        ("FlashInfer_Python[cu13]==0.7.0", "flashinfer 0.7.0", ("flashinfer-python[cu13]==0.7.0",)),
        (
            "flashinfer==0.6.8.post1  triton_kernels@sglang_kernel==0.4.2.post1",
            "flashinfer 0.6.8.post1 + triton_kernels 0.4.2.post1",
            ("flashinfer-python==0.6.8.post1", "triton_kernels@sglang-kernel==0.4.2.post1"),
        ),
        ("einops===0.8.1", "einops 0.8.1", ("einops===0.8.1",)),
        ("here", "here", ()),
    ],
)
def test_what_is_written_and_what_it_means(spec, name, requirements):
    assert parse(spec) == Environment(name, requirements)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "no environment is named"),
        ("flashinfer=0.6.8", "did you mean flashinfer==0.6.8? Environments are"),
        ("0.6.8.post1", "did you mean flashinfer==0.6.8.post1? Environments are"),
        ("flashinfer", "pin it: flashinfer==X"),
        ("flashinfer>=0.6", "pin it: flashinfer==X"),
        ("flashinfer==0.6.*", "pin it: flashinfer==X"),
        ("flashinfer==0.6.8 flashinfer-python==0.6.9", "flashinfer-python is named twice"),
        ("here flashinfer==0.6.8", "stands alone"),
        ("triton_kernels==1.0", "triton_kernels@sglang-kernel==0.4.2.post1"),
        ("triton_kernels@vllm==0.11", "triton_kernels@sglang-kernel==0.4.2.post1"),
        ("./nothing-1.0-py3-none-any.whl", "there is no wheel 'nothing-1.0-py3-none-any.whl'"),
        ("./no/such/python", "there is no interpreter"),
        ("--index-url=x", "is not a requirement"),
        ("'flashinfer==0.6.8", "open quote"),
    ],
)
def test_a_bad_spec_says_how_to_write_it(spec, says):
    with pytest.raises(ValueError) as caught:
        parse(spec)
    assert says in str(caught.value)
    assert "flashinfer==0.6.11.post1" in str(caught.value)


def test_an_interpreter_is_named_without_its_path(host):
    assert (
        parse(str(host).replace(" ", "\\ ")) == parse("here", python=str(host)) == parse("", python=str(host))
    )
    environment = parse("", python=str(host.parents[1]))  # its folder does as well
    assert environment.python == str(host)
    assert environment.name.startswith("python of höst") and "/" not in environment.name


def test_inherits_torch_and_shadows_the_rest(make):
    built = make()
    assert built.packages == {"flashinfer-python": "0.1", "small": "2.0"}
    assert built.inherited == {"torch": "2.11.0"}
    assert built.python_version == ".".join(map(str, sys.version_info[:3]))
    code = (
        "import flashinfer, torch, small, checkout; print(flashinfer.__version__, torch.where, small.version)"
    )
    assert runs(built.python, code) == "0.1 höst own"
    assert "/" not in json.dumps(built.provenance())


def test_caches_are_its_own_and_there(make, wheels):
    flashinfer(wheels, "0.2")
    one, other = make(), make("flashinfer==0.2")
    for name in CACHES:
        assert one.variables[name] != other.variables[name]
        assert Path(one.variables[name]).is_dir()
    assert one.variables["PATH"].startswith(str(one.python.parent) + os.pathsep)


def test_the_cubins_of_another_version_are_hidden(make):
    code = "import importlib.util as u; print(u.find_spec('flashinfer_cubin'))"
    assert runs(make().python, code) == "None"


def test_offline_what_the_folder_lacks_is_inherited(make, wheels):
    small = wheels / "small-2.0-py3-none-any.whl"
    small.rename(wheels / "small.kept")
    assert "small" not in make().packages
    (wheels / "small.kept").rename(small)
    assert make().packages["small"] == "2.0", "a wheel that came later is used"


def test_a_user_who_keeps_uv_offline_can_build_from_a_folder(make, monkeypatch):
    monkeypatch.setenv("UV_OFFLINE", "1")
    assert make("flashinfer==0.1").packages["flashinfer-python"] == "0.1"


@pytest.mark.parametrize("declared", ["!!! >>> 1", "small; nonsense == '1'", "\x1b[2Jowned"])
def test_a_wheel_that_declares_nonsense_is_no_end_of_the_run(make, wheels, declared):
    flashinfer(wheels, "0.6", requires=(declared,))
    with pytest.raises(BuildError, match=r"a package declares .+, which is no requirement"):
        make("flashinfer==0.6")


def test_offline_what_nobody_has_is_named(make, wheels):
    flashinfer(wheels, "0.3", requires=("small>=3", "absent", "also-absent", "nvidia-heavy"))
    (wheels / "absent-1.0-cp27-cp27mu-manylinux1_x86_64.whl").touch()  # brought for another interpreter
    with pytest.raises(BuildError) as caught:
        make("flashinfer==0.3")
    assert "needs: small>=3 (inherited: 1.0)" in str(caught.value)
    assert "needs: absent (not of use to Python 3." in str(caught.value)
    assert "here: absent-1.0-cp27-cp27mu-manylinux1_x86_64.whl)" in str(caught.value)
    assert "needs: also-absent" in str(caught.value)
    assert "nvidia-heavy" not in str(caught.value)


@pytest.mark.parametrize("offline", [True, False])
def test_what_is_declared_and_not_inherited_is_said_when_it_is_built(make, wheels, offline, monkeypatch):
    flashinfer(wheels, "0.4", requires=("torch", "cuda-tile>=1.4", "nvidia-heavy; python_version<'3'"))
    if not offline:
        monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
        monkeypatch.setenv("UV_NO_INDEX", "1")
    said: list[str] = []
    for _ in range(2):
        built = make("flashinfer==0.4", progress=said.append, **({} if offline else {"wheels": None}))
        assert built.lacks == {"cuda-tile": "cuda-tile>=1.4 (declared by flashinfer-python)"}
    (told,) = [text for text in said if "lacks" in text]
    assert "cuda-tile>=1.4 (declared by flashinfer-python)" in told and "torch" not in told
    assert "what imports it cannot run, or takes another kernel instead. If it is needed, name it" in told
    assert ("into the folder" in told) == offline


def test_built_once(make):
    said: list[str] = []
    one, two = make(progress=said.append), make(progress=said.append)
    assert said == ["building flashinfer 0.1"]
    assert (one.hash, one.packages, one.python) == (two.hash, two.packages, two.python)


@pytest.mark.parametrize("damage", ["marker", "interpreter", "package", "torn"])
def test_a_half_built_one_is_built_again(make, damage):
    built = make()
    place = built.python.parents[2]
    if damage == "marker":
        (place / "complete.json").unlink()
    elif damage == "torn":
        (place / "complete.json").write_text('{"files": {"sm')
    elif damage == "interpreter":
        built.python.unlink()
    else:
        (site_of(place / "python") / "small.py").unlink()
    (place.parent / f".{place.name}.half-1").mkdir()
    said: list[str] = []
    again = make(progress=said.append)
    assert said[0] == "flashinfer 0.1 is incomplete or was changed: building it again"
    assert again.hash == built.hash and runs(again.python, "import flashinfer") == ""
    assert not list(place.parent.glob("*.half-*"))


def test_an_edit_is_seen_and_undone(make):
    built = make()
    assert changed(built) == ""
    with (site_of(built.python.parents[1]) / "flashinfer" / "__init__.py").open("a") as file:
        file.write("edited = True\n")  # in place: the same file is in uv's cache
    assert "were changed" in changed(built)
    again = make()
    assert again.hash == built.hash and changed(again) == ""
    assert runs(again.python, "import flashinfer; print(hasattr(flashinfer, 'edited'))") == "False"


def test_a_deleted_one_is_seen(make):
    built = make()
    built.python.unlink()
    assert "is gone" in changed(built)


def test_a_full_disk_is_no_outcome_of_an_environment(make, tmp_path, monkeypatch):
    said = "error: Failed to install: flashinfer\\n  cause: No space left on device (os error 28)"
    uv = tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\nprintf '{said}' >&2\nexit 2\n")
    uv.chmod(0o755)
    monkeypatch.setattr(installer, "_find_uv", lambda: str(uv))
    with pytest.raises(OSError, match=r"cannot be used: No space left on device: '.*"):
        make("flashinfer==0.6.8.post1")


def test_no_such_version(make):
    with pytest.raises(BuildError) as caught:
        make("flashinfer==0.6.99")
    assert str(caught.value) == "there is no version of flashinfer-python==0.6.99 in the folder of wheels"
    assert "0.6.99" in caught.value.log


def test_no_such_interpreter(make, tmp_path):
    with pytest.raises(BuildError, match="cannot be started"):
        make(inherit=str(tmp_path / "gone"))


def test_the_hash_is_of_the_contents(make, tmp_path, wheels):
    one = make()
    moved = make(f"'{wheels / 'flashinfer_python-0.1-py3-none-any.whl'}'", folder=tmp_path / "elsewhere")
    assert moved.environment.name == "flashinfer 0.1 (wheel)"
    assert moved.hash == one.hash, "the same contents, asked for in another way, built elsewhere"
    flashinfer(wheels, "0.1", text="other = 1\n")
    assert make().hash != one.hash, "another wheel of the same name and version"


def test_two_at_once(make):
    said: list[str] = []
    done: list[str] = []
    pair = [threading.Thread(target=lambda: done.append(make(progress=said.append).hash)) for _ in range(2)]
    for each in pair:
        each.start()
    for each in pair:
        each.join()
    assert len(done) == 2 and done[0] == done[1]
    assert said.count("building flashinfer 0.1") == 1


def donor(folder: Path, files: dict[str, str] | None = None) -> Path:
    carried = {"triton_kernels/__init__.py": "", "triton_kernels/matmul_ogs.py": "answer = 42\n"}
    rest = {"sgl_kernel/__init__.py": "raise RuntimeError('not wanted')\n"}
    return make_wheel(folder, "sglang_kernel", "0.4.2.post1", rest | (carried if files is None else files))


def test_repacks_the_component_alone(tmp_path):
    wheel = repack(donor(tmp_path), tmp_path / "out")
    assert wheel.name == "triton_kernels_of_sglang_kernel-0.4.2.post1-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.startswith("sgl_kernel")]
    assert wheel.read_bytes() == repack(donor(tmp_path), tmp_path / "again").read_bytes()


def test_what_a_killed_run_has_left_of_a_donor_is_cleared_away(tmp_path, monkeypatch):
    def install(python, requirements, wheels, *options):
        (Path(options[-1]) / "triton_kernels").mkdir()
        (Path(options[-1]) / "triton_kernels" / "__init__.py").touch()

    monkeypatch.setattr(component, "install", install)
    (tmp_path / ".fetching-1.0-abc" / "torch").mkdir(parents=True)
    (tmp_path / ".fetching-2.0-abc").mkdir()  # another run may be at work there
    wheel = component.find("1.0", tmp_path, None, Path(sys.executable), print)
    assert sorted(each.name for each in tmp_path.iterdir()) == [".fetching-2.0-abc", ".locks", wheel.name]


def test_repacking_says_what_is_wrong(tmp_path):
    with pytest.raises(BuildError, match="has no folder triton_kernels"):
        repack(donor(tmp_path, files={}), tmp_path)
    broken = tmp_path / "sglang_kernel-1.0-py3-none-any.whl"
    broken.write_bytes(b"PK")
    with pytest.raises(BuildError, match="cannot be read"):
        repack(broken, tmp_path)


@pytest.mark.parametrize("carried", ["donor", "repacked"])
def test_the_component_beside_flashinfer(make, wheels, carried):
    wheel = donor(wheels)
    if carried == "repacked":
        repack(wheel, wheels)
        wheel.unlink()
    built = make("flashinfer==0.1 triton_kernels@sglang-kernel==0.4.2.post1")
    assert built.packages["triton-kernels-of-sglang-kernel"] == "0.4.2.post1"
    code = "from triton_kernels import matmul_ogs; import flashinfer; print(matmul_ogs.answer)"
    assert runs(built.python, code) == "42"


def test_an_existing_interpreter_as_it_is(tmp_path, host):
    built = build(parse("", python=str(host)), folder=tmp_path)
    assert built.python == host
    assert built.packages == {"flashinfer-cubin": "0.9"} and built.inherited == {"torch": "2.11.0"}
    assert Path(built.variables["TRITON_CACHE_DIR"]).is_relative_to(tmp_path)
    assert changed(built) == ""


def test_a_checkout_is_known_by_its_sources(tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    source = tmp_path / "checkout" / "flashinfer" / "__init__.py"
    source.parent.mkdir(parents=True)
    source.write_text("a = 1\n")
    put(site_of(venv), "flashinfer_python", "0.7", "")
    info = site_of(venv) / "flashinfer_python-0.7.dist-info"
    (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    (site_of(venv) / "checkout.pth").write_text(str(tmp_path / "checkout"))
    environment = parse("", python=str(venv / "bin" / "python"))
    before = build(environment, folder=tmp_path)
    source.write_text("a = 2\n")
    assert "were changed" in changed(before)
    assert build(environment, folder=tmp_path).hash != before.hash


def test_both_layouts_of_uv_are_read():
    drawn = (
        "  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because there is no version of flashinfer-python==0.6.99 and you require\n"
        "      flashinfer-python==0.6.99, we can conclude that your requirements are\n"
        "      unsatisfiable.\n"
    )
    expected = "there is no version of flashinfer-python==0.6.99 in the package index"
    assert decisive(drawn) == expected
    unreachable = "error: Request failed after 3 retries\n  cause: Failed to fetch: x\n  cause: dns error\n"
    assert decisive(unreachable) == "the package index cannot be reached: dns error"
    long = "error: No way\n  cause: Because a needs b and c needs d, we can conclude that a and c clash.\n"
    assert decisive(long) == "Because a needs b and c needs d, we can conclude that a and c clash."
    assert decisive("") == ""


def test_no_address_and_no_folder_is_told():
    said = (
        f"fetch `https://user:secret@index.example/simple/click/` to {Path.home()}/envs or /srv/alice/x y.whl"
    )
    told = redact(said)
    for secret in ("index.example", "secret", str(Path.home()), "alice"):
        assert secret not in told
    assert "click" in told


@pytest.mark.network
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="there is no torch to inherit")
@pytest.mark.parametrize("version", ["0.6.8.post1", "0.6.11.post1"])
def test_real_flashinfer(tmp_path, monkeypatch, version):
    monkeypatch.delenv("UV_CACHE_DIR")
    built = build(parse(f"flashinfer=={version}"), folder=tmp_path)
    assert built.packages["flashinfer-python"] == version and "torch" in built.inherited
    variables = json.dumps(built.variables)
    code = f"import os; os.environ.update({variables}); import flashinfer; print(flashinfer.__version__)"
    assert runs(built.python, code).splitlines()[-1] == version
