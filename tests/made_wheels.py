"""Tiny wheels: of real functions' parameter lists and empty bodies, to be read; and such as can be installed."""

import base64
import hashlib
import zipfile
from pathlib import Path

MOE = """routing_logits, routing_bias, hidden_states, hidden_states_scale, gemm1_weights, gemm1_weights_scale,
    gemm1_bias, gemm1_alpha, gemm1_beta, gemm1_clamp_limit, gemm2_weights, gemm2_weights_scale,
    gemm2_bias, output1_scale_scalar, output1_scale_gate_scalar, output2_scale_scalar, num_experts,
    top_k, n_group, topk_group, intermediate_size, local_expert_offset, local_num_experts,
    routed_scaling_factor, routing_method_type=0, do_finalize=True, enable_pdl=None,
    activation_type=ActivationType.Swiglu.value, {0}output=None, tune_max_num_tokens=8192,
    norm_topk_prob=True, routing_replay_out=None"""
CHECKS = """
import functools


def supported_compute_capability(ccs):
    def decorator(func):
        func._supported_ccs = set(ccs)
        return func
    return decorator


def backend_requirement(backend_checks, common_check=None):
    def decorator(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            if not kwargs.pop("skip_check", False):
                pass
            return func(*args, **kwargs)
        return wrapper
    return decorator


def flashinfer_api(func=None, *, trace=None):
    if func is None:
        return lambda f: flashinfer_api(f, trace=trace)
    return func
"""
OLD = {
    "__init__.py": """
from .quantization import fp4_quantize as fp4_quantize
from .quantization import mxfp4_quantize as mxfp4_quantize
from .decode import BatchDecodeWithPagedKVCacheWrapper as BatchDecodeWithPagedKVCacheWrapper
from .gemm import mm_fp4 as mm_fp4
from .fused_moe import trtllm_fp4_block_scale_moe as trtllm_fp4_block_scale_moe
from . import comm as comm
""",
    "checks.py": CHECKS,
    "quantization/__init__.py": "from .fp4 import fp4_quantize, mxfp4_quantize, only_old\n",
    "quantization/fp4.py": """
from ..checks import flashinfer_api


@flashinfer_api
def fp4_quantize(input, global_scale=None, sf_vec_size=16, sf_use_ue8m0=False, is_sf_swizzled_layout=True,
                 is_sf_8x4_layout=False, enable_pdl=None, backend="cuda"):
    pass


def mxfp4_quantize(a, backend="cuda", enable_pdl=None):
    pass


def only_old(x):
    pass
""",
    "decode.py": """
class BatchDecodeWithPagedKVCacheWrapper:
    def __init__(self, float_workspace_buffer, kv_layout="NHD", use_cuda_graph=False):
        self._plan_info = None

    def plan(self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size,
             pos_encoding_mode="NONE", window_left=-1, logits_soft_cap=None):
        pass

    def run(self, q, paged_kv_cache, *args, q_scale=None, kv_block_scales=None):
        pass

    forward = run


def gone_soon(x):
    pass


def _private_helper(x):
    pass
""",
    "gemm.py": """
from .checks import backend_requirement, supported_compute_capability


@supported_compute_capability([100, 103])
def _cudnn(*args, **kwargs):
    return True


def mm_fp4(a, b, alpha=None):
    pass


def grouped(lhs, rhs, *, ab_dtype, **kwargs):
    tile = kwargs.pop("mma_tiler_mn", (128, 128))
    return tile
""",
    "fused_moe.py": f"def trtllm_fp4_block_scale_moe({MOE.format('')}):\n    pass\n",
    "comm/__init__.py": """
from .allreduce import allreduce_fusion, create_workspace
from .torch_backend import TorchDistBackend
""",
    "comm/allreduce.py": """
def create_workspace(backend="auto", world_size=None, rank=None):
    pass


def allreduce_fusion(input, workspace, pattern, launch_with_pdl=False, output=None, residual_out=None):
    pass
""",
    "comm/torch_backend.py": "class TorchDistBackend:\n    def __init__(self, group=None):\n        pass\n",
    "data/csrc/xqa/mha.cu": '#include "mha.h"\nvoid xqa() {}\n',
    "data/csrc/xqa/mha.h": "#define PAGE 32\n",
    "data/csrc/nv_internal/cpp/kernels/quantization.cu": "void quantize() {}\n",
}
NEW = {
    **OLD,
    "quantization/__init__.py": "from .fp4 import fp4_quantize, mxfp4_quantize\n",
    "quantization/fp4.py": """
from ..checks import flashinfer_api


@flashinfer_api(trace=None)
def fp4_quantize(input, global_scale=None, sf_vec_size=16, sf_use_ue8m0=False, is_sf_swizzled_layout=True,
                 is_sf_8x4_layout=False, is_global_scale_inversed=False, enable_pdl=None, backend="cuda"):
    pass


def mxfp4_quantize(a, backend="auto", enable_pdl=None, *, batch_invariant=False):
    pass
""",
    "decode.py": """
_LEGACY = ("pos_encoding_mode", "window_left", "logits_soft_cap")


def _merge(names, given, kwargs):
    return kwargs


class BatchDecodeWithPagedKVCacheWrapper:
    def __init__(self, float_workspace_buffer, kv_layout="NHD", use_cuda_graph=False, jit_kwargs=None):
        self._plan_info = None

    def plan(self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size,
             *deprecated_positional_args, **kwargs):
        if not deprecated_positional_args:
            return self._plan_impl(indptr, indices, last_page_len, **kwargs)
        plan_kwargs = _merge(_LEGACY, deprecated_positional_args, kwargs)
        return self._plan_impl(indptr, indices, last_page_len, **plan_kwargs)

    def _plan_impl(self, indptr, indices, last_page_len, *, pos_encoding_mode="NONE", window_left=-1,
                   logits_soft_cap=None, q_len_per_req=1):
        pass

    def run(self, q, paged_kv_cache, *args, q_scale=None, kv_cache_sf=None):
        pass
""",
    "gemm.py": """
from .checks import backend_requirement, supported_compute_capability


@supported_compute_capability([100, 103, 120, 121])
def _cudnn(*args, **kwargs):
    return True


@backend_requirement({"cudnn": _cudnn})
def mm_fp4(a, b, *, alpha=None):
    pass


def grouped(lhs, rhs, *, ab_dtype, **kwargs):
    tile = kwargs.pop("mma_tiler_mn", (128, 128))
    return tile
""",
    "fused_moe.py": f"def trtllm_fp4_block_scale_moe({MOE.format('per_token_scale=None, ')}):\n    pass\n",
    "comm/__init__.py": """
from .allreduce import allreduce_fusion, create_workspace
from .comm_backend import TorchDistBackend
""",
    "comm/allreduce.py": """
def create_workspace(backend="auto", world_size=None, rank=None, group=None):
    pass


def allreduce_fusion(input, workspace, pattern, launch_with_pdl=False, trigger_completion_at_end=True, output=None,
                     residual_out=None):
    pass
""",
    "comm/comm_backend.py": "class TorchDistBackend:\n    def __init__(self, group=None):\n        pass\n",
    "data/csrc/xqa/mha.h": "#define PAGE 64\n",
    "broken.py": "from .decode import gone_soon\n\n\ndef works(x):\n    pass\n",
}
del NEW["comm/torch_backend.py"]
OLD["broken.py"] = "def works(x):\n    pass\n"
PINS = {
    "1.0": ("torch", "nvidia-cutlass-dsl>=4.4.2"),
    "2.0": ("torch", "nvidia-cutlass-dsl>=4.5.0", "cuda-python>=12"),
}


def wheel(
    folder: Path,
    version: str,
    files: dict[str, str],
    name: str = "flashinfer_python",
    package: str = "flashinfer",
    pins: tuple[str, ...] = (),
) -> Path:
    """Writes a wheel of `files`, whose names lie under `package`."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    metadata = [f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {each}" for each in pins or PINS.get(version, ())]
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{package}/{file}", text)
        archive.writestr(f"{name}-{version}.dist-info/METADATA", "\n".join(metadata) + "\n")
    return path


def make_wheel(
    folder: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()
) -> Path:
    """Writes a wheel that can be installed."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    placed = dict(files)
    placed[f"{info}/METADATA"] = metadata + "".join(f"Requires-Dist: {each}\n" for each in requires)
    placed[f"{info}/WHEEL"] = wheel
    rows = []
    for path, text in placed.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}")
    placed[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    target = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in placed.items():
            archive.writestr(path, text)
    return target


def old_and_new(folder: Path) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return wheel(folder, "1.0", OLD), wheel(folder, "2.0", NEW)
