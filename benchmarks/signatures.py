"""The parameters of the library's functions that our kernels call, as each release states them: read, never imported.

    python -m benchmarks.signatures WHEELS...

writes tests/cases/signatures.json anew, from the wheels of all releases that are in it, and of more if you like.

`functions`: for each name the releases from which on it has these parameters, oldest first; null where it is not there.
`enums`: in the same way the members of its enumerations, with their numbers.
"""

import argparse
import ast
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from packaging.version import Version

from workbench import files
from workbench.drift import Library, open_release
from workbench.drift.accepted import signatures
from workbench.drift.signature import KEYWORD, OPTIONS, REST, Parameter, Signature

WRAPPERS = {
    "flashinfer.BatchDecodeWithPagedKVCacheWrapper": ("plan", "run"),
    "flashinfer.BatchPrefillWithPagedKVCacheWrapper": ("plan", "run"),
    "flashinfer.BatchAttentionWithAttentionSinkWrapper": ("plan", "run"),
    "flashinfer.fused_moe.CuteDslMoEWrapper": ("run",),
    "flashinfer.fused_moe.CuteDslBf16MoEWrapper": ("run",),
}
FUNCTIONS = (
    "flashinfer.comm.allreduce_fusion",
    "flashinfer.comm.comm_backend.TorchDistBackend.__init__",
    "flashinfer.comm.create_allreduce_fusion_workspace",
    "flashinfer.comm.mnnvl.TorchDistBackend.__init__",
    "flashinfer.cute_dsl.utils.convert_sf_to_mma_layout",
    "flashinfer.decode.trtllm_batch_decode_with_kv_cache",
    "flashinfer.fp4_quantize",
    "flashinfer.fused_moe.core._maybe_get_cached_w3_w1_permute_indices",
    "flashinfer.fused_moe.core.get_w2_permute_indices_with_cache",
    "flashinfer.fused_moe.cute_dsl_fused_moe_nvfp4",
    "flashinfer.fused_moe.cutlass_fused_moe",
    "flashinfer.fused_moe.interleave_moe_scales_for_sm90_mixed_gemm",
    "flashinfer.fused_moe.interleave_moe_weights_for_sm90_mixed_gemm",
    "flashinfer.fused_moe.trtllm_fp4_block_scale_moe",
    "flashinfer.gemm.grouped_gemm_nt_masked",
    "flashinfer.jit.comm.gen_trtllm_comm_module",
    "flashinfer.mxfp4_quantize",
    "flashinfer.mxfp8_quantize",
    "flashinfer.nvfp4_batched_quantize",
    "flashinfer.prefill.trtllm_batch_context_with_kv_cache",
    "flashinfer.prefill.trtllm_fmha_v2_prefill",
    "flashinfer.scaled_fp4_grouped_quantize",
    "flashinfer.silu_and_mul_scaled_nvfp4_experts_quantize",
    *(f"{wrapper}.{each}" for wrapper, methods in WRAPPERS.items() for each in ("__init__", *methods)),
)
STORED = Path(__file__).parents[1] / "tests" / "cases" / "signatures.json"
ENUMS = ("flashinfer.fused_moe.RoutingMethodType",)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, default=STORED, metavar="FILE", help="another file to write")
    parser.add_argument("--fewer", action="store_true", help="drop the releases whose wheels are not given")
    options = parser.parse_args(words)
    wheels = {wheel.name.split("-")[1]: wheel for wheel in options.wheels}
    if lost := [] if options.fewer else _lost(options.into, wheels):
        parser.error(
            f"{len(lost)} releases of {options.into} have no wheel here, and would be lost: {', '.join(lost)}; "
            "give their wheels too, or --fewer"
        )
    read = {}
    for release in sorted(wheels, key=Version):
        read[release] = of_release(wheels[release])
        print(wheels[release].name, file=sys.stderr, flush=True)
    functions, enums = (
        {name: changes({each: read[each][name] for each in read}) for name in names}
        for names in (FUNCTIONS, ENUMS)
    )
    found = {"releases": list(read), "functions": functions, "enums": enums}
    files.write(options.into, json.dumps(found, indent=1) + "\n")


def _lost(file: Path, wheels: Collection[str]) -> list[str]:
    stored = json.loads(file.read_text(encoding="utf-8"))["releases"] if file.is_file() else []
    return [release for release in stored if release not in wheels]


def of_release(wheel: Path) -> dict[str, str | None]:
    """The parameters of each function and the members of each enumeration as text; None where it is not there."""
    library = Library(open_release(str(wheel)))
    return {
        **{name: _stated(library, name) for name in FUNCTIONS},
        **{name: _members(library, name) for name in ENUMS},
    }


def _stated(library: Library, name: str) -> str | None:
    found = library.find(name)
    signature = signatures(library, found[0]) if isinstance(found, tuple) else None
    return text(signature) if signature else None


def _members(library: Library, name: str) -> str | None:
    found = library.find(name)
    if not isinstance(found, tuple):
        return None
    (only,) = found
    lines = [each for each in only.value.node.body if isinstance(each, ast.Assign)]
    return ", ".join(f"{ast.unparse(each.targets[0])}={_number(each.value)}" for each in lines)


def _number(value: ast.expr) -> int:
    """A member of an IntEnum may be stated as `3` or as `(3,)`."""
    stated = ast.literal_eval(value)
    return stated[0] if isinstance(stated, tuple) else stated


def text(signature: Signature) -> str:
    """Which may be left out is said by `=...`, for what they then are is nobody's business here."""
    known = list(signature.parameters)
    if signature.closed:  # what is behind **kwargs is known, all of it
        hidden = [Parameter(each, KEYWORD, -1, "...") for each in signature.hidden]
        known = [*(each for each in known if each.kind != OPTIONS), *hidden]
    parts = [_written(each) for each in known]
    named = [each.kind == KEYWORD for each in known]
    if any(named) and not signature.has(REST):
        parts.insert(named.index(True), "*")
    return ", ".join(parts)


def _written(parameter: Parameter) -> str:
    sign = {REST: "*", OPTIONS: "**"}.get(parameter.kind, "")
    return f"{sign}{parameter.name}" + ("=..." if parameter.default is not None else "")


def changes(stated: dict[str, str | None]) -> dict[str, str | None]:
    """Those alone that differ from the release before."""
    kept: dict[str, str | None] = {}
    for release, parameters in stated.items():
        if not kept or list(kept.values())[-1] != parameters:
            kept[release] = parameters
    return kept


if __name__ == "__main__":
    main()
