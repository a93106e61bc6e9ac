"""GPU core dumps: how a process is made to write one, and what cuda-gdb says of it. Size and time have limits."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from workbench.forensics import device_fault

MOST_BYTES = 1 << 30
READ_LIMIT_S = 60.0
MOST_TEXT = 200_000
CUDA_FOLDER = "/usr/local/cuda/bin"
LIGHT = ",".join(
    f"skip_{part}"
    for part in (
        "nonrelocated_elf_images",
        "global_memory",
        "shared_memory",
        "local_memory",
        "constbank_memory",
        "abort",
    )
)


def tool(name: str) -> str | None:
    """The path of a program of the CUDA toolkit."""
    return shutil.which(name) or shutil.which(name, path=CUDA_FOLDER)


def variables(folder: Path) -> dict[str, str]:
    """Launches are waited for; a fault writes a small dump into the folder, and the process goes on to say its error.

    The older names are for drivers that do not know `GENERATION_FLAGS` (before CUDA 12.5). Where the disk is full
    nothing is dumped.
    """
    if shutil.disk_usage(folder).free < 2 * MOST_BYTES:
        return {"CUDA_LAUNCH_BLOCKING": "1"}
    return {
        "CUDA_LAUNCH_BLOCKING": "1",
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1",
        "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP": "1",
        "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION": "0",
        "CUDA_COREDUMP_GENERATION_FLAGS": LIGHT,
        "CUDA_COREDUMP_SHOW_PROGRESS": "1",
        "CUDA_COREDUMP_FILE": str(folder / "core.%p"),
    }


def fault(folder: Path, stderr: str) -> dict[str, str] | None:
    """The fault that the dump in the folder, or else the driver's words about it, tell of."""
    dumps = sorted(
        each for each in folder.iterdir() if each.is_file() and 0 < each.stat().st_size <= MOST_BYTES
    )
    found = device_fault.from_debugger(_debugged(dumps[0])) if dumps else None
    return found or device_fault.from_driver(stderr)


def _debugged(dump: Path) -> str:
    debugger = tool("cuda-gdb")
    if debugger is None:
        return ""
    asked = (f"target cudacore {dump}", "bt", "info cuda kernels")
    command = [debugger, "-nx", "-batch", *(part for each in asked for part in ("-ex", each))]
    try:
        process = subprocess.Popen(
            command, cwd=dump.parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    except OSError:
        return ""
    try:
        text, _ = process.communicate(timeout=READ_LIMIT_S)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(problem, subprocess.TimeoutExpired):
            return ""
        raise
    return text[:MOST_TEXT].decode("utf-8", "replace")
