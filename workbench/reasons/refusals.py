"""Calls that the driver or a library refused (1, 209, 400, 701, 900): the frame is right."""

from __future__ import annotations

import re

from .arch import never_built, none_runs
from .evidence import Evidence
from .signs import sign

_BINARY_FOR = re.compile(r"sm_?(\d{2,3})([af]?)(?![0-9a-z])", re.IGNORECASE)
_LIBRARY = re.compile(r"[\w.-]{0,80}sm_?\d{2,3}[af]?(?![0-9a-z])[\w.-]{0,80}\.(?:so|cubin)", re.IGNORECASE)


def _image(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """No image: built for another GPU altogether, or (the default) a partial or stale binary."""
    near = " ".join(evidence.lines[max(0, where - 6) : where + 7])
    named = [pair for name in _LIBRARY.findall(near) for pair in _BINARY_FOR.findall(name)]
    never = none_runs(named, evidence.sms) or never_built(near, evidence.sms)
    return "unsupported_arch" if never else "no_kernel_image"


REFUSALS = (
    sign(
        _image,
        "no kernel image is available",
        "cudaErrorNoKernelImageForDevice",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "invalid device function",
        "cudaErrorInvalidDeviceFunction",
        "device kernel image is invalid",
        "named symbol not found",
        "cudaErrorSymbolNotFound",
        "instruction used without targeting appropriate compute capability",
    ),
    sign(
        "resource_exhausted",
        "too many resources requested for launch",
        "cudaErrorLaunchOutOfResources",
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    ),
    sign(
        "graph_capture_failure",
        "operation (?:not permitted when stream is capturing|failed due to a previous error during capture)",
        r"cuda(?:Error)?StreamCapture\w+",
        r"CUDA_ERROR_STREAM_CAPTURE_\w+",
        "legacy stream depend on a capturing",
        "capturing stream has unjoined work",
        "merge of (?:two )?(?:independent|separate) capture",
        "capture was not (?:initiated|ended) in (?:this|the same) stream",
        "last recorded in a capturing stream",
        "terminate a thread-local capture",
        "during (?:CUDA )?graph capture unless",
        "outside (?:CUDA )?graph capture",
        "dependency created on uncaptured work",
        "not (?:allowed|permitted|supported) (?:during|while|when|in) (?:CUDA )?(?:graph|stream) captur",
    ),
    sign(
        "resource_exhausted",
        "cudaFuncSetAttribute.{0,80}(?:invalid|failed)",
        "MaxDynamicSharedMemorySize.{0,60}invalid",
    ),
    sign(
        "launch_failure",
        "(?:cudaLaunch|cuLaunch|<<<).{0,120}invalid (?:argument|configuration)",
        "invalid configuration argument",
        "cudaErrorInvalidConfiguration",
        r"Triton Error \[CUDA\]: invalid argument",
        r"\bcuda\b.{0,120}invalid argument",
        r"failed with error:? (?:code )?\(?invalid",
        "cudaErrorInvalidValue",
        "CUDA_ERROR_INVALID_VALUE",
        "invalid resource handle",
        "cudaErrorInvalidResourceHandle",
        "CUDA_ERROR_INVALID_HANDLE",
    ),
    sign(
        "unsupported_arch",
        "CUBLAS_STATUS_ARCH_MISMATCH",
        "CUDNN_STATUS_(?:NOT_SUPPORTED_)?ARCH_MISMATCH",
    ),
    sign(
        "no_kernel_for_config",
        "CUBLAS_STATUS_NOT_SUPPORTED",
        "CUDNN_STATUS_NOT_SUPPORTED",
    ),
    sign(
        "launch_failure",
        "CUBLAS_STATUS_EXECUTION_FAILED",
        "CUDNN_STATUS_EXECUTION_FAILED",
    ),
    sign(
        "bad_argument",
        "CUBLAS_STATUS_INVALID_VALUE",
        "CUDNN_STATUS_BAD_PARAM",
    ),
)
