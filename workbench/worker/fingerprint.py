"""Says what decides whether kernels work in an interpreter: `python -I fingerprint.py REQUEST` prints one JSON line.

Standard library only. Reads what installers and the driver leave; imports none of the packages.
"""

import hashlib
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

WATCHED = (
    "FLASHINFER_",
    "TRITON_",
    "CUDA_HOME",
    "CUDA_PATH",
    "TORCH_CUDA_ARCH_LIST",
    "CUTE_DSL_",
    "MAX_JOBS",
)
INVARIANT = ("VLLM_BATCH_INVARIANT",)  # switches that serving projects have for answers that never vary
SHADOWED = ("flashinfer", "triton", "triton_kernels", "torch", "tvm_ffi", "cutlass", "sgl_kernel")
WAIT_S = 1.0


def main(request):
    """`folders`: where the caller would start Python, which comes first on its path; `variables`: its own."""
    variables = request["variables"]
    found = distributions()
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": {name: each["version"] for name, each in found.items()},
        "twice": {name: each["versions"] for name, each in found.items() if len(set(each["versions"])) > 1},
        "requires": {name: found[name]["requires"] for name in request["requires"] if name in found},
        "torch_cuda": torch_cuda(),
        "flashinfer": where("flashinfer"),
        "triton_kernels": triton_kernels(),
        "shadows": shadows(request["folders"]),
        "cutlass_dsl": cutlass_dsl(found),
        "nvcc": nvcc(variables),
        "driver": driver(),
        "variables": {name: value for name, value in sorted(variables.items()) if watched(name)},
        "cache": cache(variables),
        "artifacts": artifacts(found, variables),
    }


def watched(name):
    return name.startswith(WATCHED) or name in INVARIANT


def distributions():
    """Name -> version, all versions in its folder, metadata and requirements; the first on the path wins."""
    found: dict = {}
    for folder in sys.path:
        here: dict = {}
        for info in sorted(Path(folder).glob("*.dist-info")) if Path(folder).is_dir() else ():
            name, _, version = info.name[: -len(".dist-info")].partition("-")
            key = re.sub(r"[-_.]+", "-", name).lower()
            if key in here:
                here[key]["versions"].append(version)
            else:
                here[key] = {
                    "version": version,
                    "versions": [version],
                    "info": info,
                    "requires": requires(info),
                }
        for name, each in here.items():
            if sys.modules.get(name.replace("-", "_"), 0) is not None:  # None: hidden from this environment
                found.setdefault(name, each)
    return found


def requires(info):
    return re.findall(r"^Requires-Dist:\s*(.+)$", read(info / "METADATA").split("\n\n")[0], re.MULTILINE)


def where(module):
    """The folder that an import would take, "" if there is none."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return ""
    if spec is None:
        return ""
    return (
        str(Path(spec.origin).parent)
        if spec.origin
        else next(iter(spec.submodule_search_locations or []), "")
    )


def torch_cuda():
    found = re.search(
        r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]",
        read(Path(where("torch") or os.devnull) / "version.py"),
        re.MULTILINE,
    )
    return found[1] if found else ""


def triton_kernels():
    """Told by its contents, for its metadata does not say: where, a hash, and the shape of its API."""
    folder = where("triton_kernels")
    if not folder:
        return {}
    files = sorted(Path(folder).rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    names = {file.relative_to(folder).as_posix() for file in files}
    text = read(Path(folder) / ("matmul.py" if "matmul.py" in names else "matmul_ogs.py"))
    return {
        "hash": digest.hexdigest()[:16],
        "files": len(files),
        "routing": "routing.py" in names,
        "matmul_ogs": "matmul_ogs.py" in names,
        "matmul": "matmul.py" in names,
        "microblock": "b_microblock_size" in text,
    }


def shadows(folders):
    """Files and folders that an import from there would take instead of the installed package."""
    found = []
    for folder in folders:
        for name in SHADOWED:
            place = Path(folder) / name
            if (place.is_dir() and any(place.glob("*.py"))) or place.with_suffix(".py").is_file():
                found.append({"name": name, "folder": str(folder)})
    return found


def cutlass_dsl(found):
    """Its variants write the same files: which of them are installed, and whose files lie there."""
    variants = {name: each for name, each in found.items() if name.startswith("nvidia-cutlass-dsl")}
    records = {name: record(each["info"]) for name, each in variants.items() if "-libs" in name}
    shared = set.intersection(*(set(rows) for rows in records.values())) if len(records) > 1 else set()
    present: dict = {}
    for path in sorted(shared)[:50]:
        here = digest_of(Path(next(iter(variants.values()))["info"]).parent / path)
        for name, rows in records.items():
            if len({each.get(path) for each in records.values()}) > 1 and rows[path] == here:
                present[name] = present.get(name, 0) + 1
    return {
        "versions": {name: each["version"] for name, each in variants.items()},
        "shared": len(shared),
        "present": present,
    }


def record(info):
    rows = [line.split(",") for line in read(info / "RECORD").splitlines()]
    return {row[0]: row[1] for row in rows if len(row) > 2 and row[1] and ".dist-info/" not in row[0]}


def digest_of(file):
    import base64

    try:
        digest = hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        return ""
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def nvcc(variables):
    """The compiler that FlashInfer would call: FLASHINFER_NVCC, CUDA_HOME, then the search path."""
    home = variables.get("CUDA_HOME") or variables.get("CUDA_PATH")
    places = [variables.get("FLASHINFER_NVCC"), home and os.path.join(home, "bin", "nvcc")]
    places += [os.path.join(folder, "nvcc") for folder in variables.get("PATH", "").split(os.pathsep)]
    places += ["/usr/local/cuda/bin/nvcc"]
    for place in filter(None, places):
        if os.access(place, os.X_OK) and not os.path.isdir(place):
            return {"path": place, "version": version_of(place)}
    return {}


def version_of(program):
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, timeout=20, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(rb"release ([\d.]+)", done.stdout)
    return found[1].decode() if found else ""


def driver():
    found = re.search(r"Kernel Module\D*?\s([\d.]{5,})", read(Path("/proc/driver/nvidia/version")))
    return found[1] if found else ""


def cache(variables):
    """Where FlashInfer keeps what it compiles: can it be written, by whom, and is it one of its own."""
    base = variables.get("FLASHINFER_WORKSPACE_BASE")
    folder = Path(base or variables.get("HOME") or os.path.expanduser("~")) / ".cache" / "flashinfer"
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        status = there.stat()
    except OSError:
        return {"path": str(folder), "own": bool(base), "writable": False, "others": False, "mine": False}
    return {
        "path": str(folder),
        "own": bool(base),
        "writable": os.access(there, os.W_OK | os.X_OK),
        "others": bool(folder.exists() and status.st_mode & 0o002 and not status.st_mode & 0o1000),
        "mine": status.st_uid == os.getuid(),
    }


def artifacts(found, variables):
    """Kernels that are fetched at run time: installed as a package, lying there, or to be had from a server."""
    folder = variables.get("FLASHINFER_CUBIN_DIR") or os.path.join(cache(variables)["path"], "cubins")
    reachable, text = server(variables)
    return {
        "installed": found.get("flashinfer-cubin", {}).get("version", ""),
        "fetched": bool(os.path.isdir(folder) and os.listdir(folder)),
        "download": variables.get("FLASHINFER_NO_DOWNLOAD", "0") in ("", "0"),
        "reachable": reachable,
        "text": text,
    }


def server(variables):
    told = variables.get("FLASHINFER_CUBINS_REPOSITORY") or address()
    parts = urlsplit(told)
    if not parts.hostname:
        return None, "this version does not say where its server is"
    try:
        socket.setdefaulttimeout(WAIT_S)
        socket.create_connection((parts.hostname, parts.port or 443), timeout=WAIT_S).close()
    except OSError as problem:
        return False, type(problem).__name__
    finally:
        socket.setdefaulttimeout(None)
    return True, ""


def address():
    """The default in FlashInfer's own source."""
    for name in ("jit/cubin_loader.py", "jit/env.py", "artifacts.py"):
        text = read(Path(where("flashinfer") or os.devnull) / name)
        found = re.search(r"FLASHINFER_CUBINS_REPOSITORY\W+(https?://[^'\"\s]+)", text)
        if found:
            return found[1]
    return ""


def read(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


if __name__ == "__main__":
    print("\n" + json.dumps(main(json.loads(sys.argv[1]))))
