"""Says what an interpreter has: `python -I probe.py REQUEST` prints one JSON line. Standard library only.

Works on the files that installers leave (RECORD, direct_url.json) and imports no package.
"""

import base64
import csv
import hashlib
import importlib.util
import json
import re
import site
import sys
import sysconfig
from pathlib import Path

INSTALLERS = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json", "uv_build.json")
SOURCES = {".py", ".cu", ".cuh", ".h", ".hpp", ".cpp", ".so", ".jinja"}


def main(request):
    """`own`: report the environment's packages apart from inherited ones; `verify`: read all their files."""
    mine = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    found, every = {}, {}
    for folder in sys.path:
        for name, version, info in distributions(Path(folder)):
            hidden = sys.modules.get(name.replace("-", "_"), 0) is None
            if hidden or name in every:
                continue  # the first on the path is the one that is imported
            every[name] = version
            own = request["own"] and folder in mine
            watched = own if request["own"] else name in request["measured"]
            if watched or wanted(name, request):
                found[name] = {"name": name, "version": version, "own": own, "files": "", "edited": []}
                found[name].update(contents(name, info, watched, request["verify"]))
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "release": list(sys.version_info[:2]),
        "prefix": sys.prefix,
        "site": sysconfig.get_path("purelib"),
        "folders": [folder for folder in site.getsitepackages() if Path(folder).is_dir()],
        "scripts": inherited_scripts(mine),
        "distributions": [found[name] for name in sorted(found)],
        "every": every,
    }


def wanted(name, request):
    beneath = name.startswith(tuple(request["starts"])) and name != "nvidia-ml-py"
    return beneath or name in request["beneath"] or name in request["measured"]


def inherited_scripts(mine):
    """Where the programs of inherited packages lie (ninja): in bin, beside the lib that holds them."""
    places: list[str] = []
    for folder in map(Path, sys.path):
        if folder.name in ("site-packages", "dist-packages") and str(folder) not in mine:
            programs = str(folder.parents[2] / "bin") if len(folder.parents) > 2 else ""
            if programs not in ("", *places) and Path(programs).is_dir():
                places.append(programs)
    return places


def distributions(folder):
    """-> name, version, metadata folder of each."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for info in entries:
        if info.suffix in (".dist-info", ".egg-info"):
            name, _, version = info.stem.partition("-")
            if not version or info.suffix == ".egg-info":
                version = declared_version(info)
            yield re.sub(r"[-_.]+", "-", name).lower(), version, info


def declared_version(info):
    for file in ("METADATA", "PKG-INFO"):
        found = re.search(r"^Version:\s*(\S+)", read(info / file), re.MULTILINE)
        if found:
            return found[1]
    return "unknown"


def contents(name, info, watched, verify):
    """The hash of what is installed; of a `watched` one another of sizes and dates (torch has 10,000 files).

    With `verify` also the files that are not as RECORD says.
    """
    if is_editable(info):
        return sources(name, info)
    rows = [(row[0], row[1]) for row in csv.reader(read(info / "RECORD").splitlines()) if len(row) > 1]
    rows = [(path, digest) for path, digest in rows if belongs(path)]
    answer = {"contents": combined([path + " " + digest for path, digest in rows])}
    if watched:
        answer["files"] = combined([stamp(path, info.parent / path) for path, _ in rows])
        if verify:
            checked = [(path, digest) for path, digest in rows if digest]
            answer["edited"] = [path for path, digest in checked if digest != sha256_of(info.parent / path)]
    return answer


def belongs(path):
    """Not what an installer adds, nor scripts (they hold the environment's path), nor compiled files."""
    added = ".dist-info/" in path and path.rpartition("/")[2] in INSTALLERS
    return not (path.startswith(("..", "/")) or path.endswith(".pyc") or added)


def is_editable(info):
    try:
        return bool(json.loads(read(info / "direct_url.json")).get("dir_info", {}).get("editable"))
    except ValueError:
        return info.suffix == ".egg-info" and info.is_dir()


def sources(name, info):
    """A checkout has no record of its files: its sources are read."""
    kept, seen = [], []
    for module in modules(name, info):
        spec = importlib.util.find_spec(module)
        for root in map(Path, (spec and spec.submodule_search_locations) or []):
            for file in root.rglob("*"):
                if file.suffix in SOURCES:
                    path = file.relative_to(root).as_posix()
                    kept.append(path + " " + sha256_of(file))
                    seen.append(stamp(path, file))
    return {"contents": combined(kept), "files": combined(seen)}


def modules(name, info):
    short = name[: -len("-python")] if name.endswith("-python") else name
    return read(info / "top_level.txt").split() or [short.replace("-", "_")]


def read(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def stamp(path, file):
    try:
        status = file.stat()
        return f"{path} {status.st_size} {status.st_mtime_ns}"
    except OSError:
        return path + " gone"


def sha256_of(file):
    """As RECORD writes it."""
    try:
        digest = hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        return "gone"
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def combined(lines):
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


if __name__ == "__main__":
    print("\n" + json.dumps(main(json.loads(sys.argv[1]))))
