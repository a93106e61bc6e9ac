"""The machine under the packages: driver, network, devices, disk."""

from __future__ import annotations

import re

from .arch import DRIVER_FOR_CUDA, release
from .evidence import Evidence
from .signs import sign

_CACHED = re.compile(r"\.so\b|cached_ops|load(?:ing|ed)? (?:module|library)|dlopen", re.IGNORECASE)
_ARTIFACT = re.compile(
    r"cubin|artifact|checksums?|trtllm|\bheader\b|\.h\b|cached_ops|flashinfer", re.IGNORECASE
)


def _driver(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """Too old a driver, unless it is known to be new enough: then another toolkit's binary was loaded."""
    driver = release(evidence.versions.get("driver", ""))
    local = re.search(r"\+cu(\d{2})\d", evidence.versions.get("torch", ""))
    cuda = (int(local.group(1)),) if local else release(evidence.versions.get("cuda", ""))
    needs = DRIVER_FOR_CUDA.get(cuda[0]) if cuda else None
    near = " ".join(evidence.lines[max(0, where - 5) : where + 4])
    fits = bool(driver and needs and driver[0] >= needs)
    return "version_skew" if fits and _CACHED.search(near) else "driver_mismatch"


def _network(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """An unreachable server: the vendor's artifacts, or something else that the environment needs."""
    near = " ".join(evidence.lines[max(0, where - 6) : where + 4])
    return "missing_cubin" if _ARTIFACT.search(near) else "env_problem"


MACHINE = (
    sign(
        _driver,
        "driver version is insufficient",
        "cudaErrorInsufficientDriver",
        "driver on your system is too old",
        "NVIDIA driver .{0,40}too old",
    ),
    sign(
        "driver_mismatch",
        "unsupported display driver",
        r"Error 80[234]\b",
        "system not yet initialized",
        "cudaErrorSystem(?:NotReady|DriverMismatch)",
        "forward compatibility was attempted",
        "CompatNotSupportedOnDevice",
        "Driver/library version mismatch",
        "PTX was compiled with an unsupported toolchain",
        "cudaErrorUnsupportedPtxVersion",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        r"CUDA_ERROR_SYSTEM_\w+",
        "Found no NVIDIA driver",
        r"libcuda\.so\.1: cannot open",
    ),
    sign(
        _network,
        "NameResolutionError",
        "name resolution",
        "Max retries exceeded",
        "ConnectionError",
        "ConnectTimeout",
        "ReadTimeout",
        "Failed to resolve",
        "HTTPError",
        "HTTPSConnectionPool",
        "Network is unreachable",
        "Could not resolve host",
        r"[45]\d\d (?:Client|Server) Error",
        "Connection (?:refused|timed out)",
        "Max retries reached",
        "CERTIFICATE_VERIFY_FAILED",
        "LocalEntryNotFoundError",
        "OfflineModeIsEnabled",
    ),
    sign(
        "missing_cubin",
        "Failed to (?:get|fetch|download|obtain) .{0,80}(?:cubin|checksum|artifact|header|kernel map)",
        r"(?:cubin|checksums?|artifact)\S{0,60} .{0,60}(?:not found|missing|mismatch|download\w{0,4} failed)",
        "MissingJITCacheError",
        "(?:NO_DOWNLOAD|downloads? (?:is|are) (?:disabled|not allowed)).{0,80}",
    ),
    sign(
        "env_problem",
        "No CUDA GPUs are available",
        "no CUDA-capable device",
        "cudaErrorNoDevice",
        r"CUDA-capable device\(s\) is/are busy",
        "devices? (?:is|are) busy or unavailable",
        "invalid device ordinal",
        "uncorrectable (?:NVLink|ECC)",
        "cudaErrorECC",
        "fallen off the bus",
        r"Xid\b.{0,60}\): (?:48|63|64|79|94|95|119|120)\b",
        "Unable to determine the device handle",
        "not compiled with CUDA enabled",
    ),
    sign(
        "env_problem",
        "No space left on device",
        "Disk quota exceeded",
        "Read-only file system",
        "Too many open files",
        "PermissionError",
        "Permission denied",
        "unable to open shared memory object",
        "bus error.{0,60}shared memory",
        r"insufficient shared memory \(shm\)",
        "Address already in use",
        "unhandled system error",
        "ncclSystemError",
        "Stale file handle",
        "Device or resource busy",
        r"OSError: \[Errno (?:5|13|16|24|28|30|116|122)\]",
    ),
    sign(
        "env_problem",
        "No matching distribution found",
        "Could not find a version that satisfies",
        note="the package could not be installed",
    ),
)
