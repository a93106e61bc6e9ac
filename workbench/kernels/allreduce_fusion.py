"""All-reduce, residual and RMSNorm in one kernel: what follows a row-parallel matrix product in a decoder layer.

Every rank holds a share bfloat16 [tokens, hidden]; the answers, the same on every rank, are `residual`, the
sum of all shares and of the residual, and `norm`, its RMSNorm times gamma, both bfloat16 [tokens, hidden].
`implementation`: `nccl` is the peer, torch's all-reduce over NCCL, an addition and torch's rms_norm; its
all-reduce works in place, so it copies the share first (what a model that owns the buffer would not).
`strategy`: `oneshot` or `twoshot`, always said, so that no version's own choice is compared; nothing is launched
early (`launch_with_pdl` as by default).
`group`: how the workspace learns of the process group: `none`; `comm_backend`, as callers did before there was
a `group`; `group`. `bystanders`: ranks of the world that take no part, as with tensor parallelism within data
parallelism. A workspace that meets on the whole world waits for them for ever: `prepare` hangs. By their
sources 0.6.8.post1, 0.6.9 and 0.6.16 meet on the backend's group, 0.6.10 on the world whatever is said, 0.6.10.post1
and 0.6.11.post1 on `group` alone; and all of them on the world where nothing is said.

The workspace is flashinfer's `trtllm` one: `mnnvl` needs NVLink multicast.
TOLERANCE: rounding of the sum and the norm to bfloat16 gives about 3e-3 a row with two ranks. Seen: a rank's
share or the residual left out, gamma left out, a stale answer, one element off by two thirds of a usual one.
Missed: another eps, for the rows are far larger than it.
Source: flashinfer/comm/allreduce.py and trtllm_ar.py.
"""

import importlib
import inspect
from typing import Any

from . import _draw, _ranks

API = "flashinfer.comm.allreduce_fusion"
DEVICES = ("cuda",)
TOLERANCE = 1e-2
VARIES = ("shares", "residual")
HIDDEN, EPS = 4096, 1e-6


def _case(tokens: int, ranks: int, strategy: str, group: str = "none", bystanders: int = 0) -> dict[str, Any]:
    size = dict(ranks=ranks, bystanders=bystanders, tokens=tokens, hidden=HIDDEN)
    return dict(**size, implementation="flashinfer", strategy=strategy, group=group)


def _ladder(ranks: int) -> list[dict[str, Any]]:
    """From 8 KB to 64 MB a rank; twoshot needs more tokens than ranks."""
    ours = [_case(tokens, ranks, "oneshot") for tokens in (1, 16, 128, 1024)]
    ours += [_case(tokens, ranks, "twoshot") for tokens in (16, 128, 1024, 8192)]
    peer = [_case(tokens, ranks, "none") for tokens in (1, 16, 128, 1024, 8192)]
    return ours + [dict(case, implementation="nccl") for case in peer]


CASES = [
    *_ladder(2),
    *(_case(128, 2, "oneshot", group) for group in ("comm_backend", "group")),
    *(_case(128, 2, "oneshot", group, 1) for group in ("comm_backend", "group", "none")),
    *_ladder(4),
    *_ladder(8),
]


def inputs(*, seed=0, ranks, bystanders, tokens, hidden, implementation, strategy, group) -> dict[str, Any]:
    """The same on every rank, so that each can compute the answer: the shares of all are there."""
    source = _draw.generator(seed)
    return dict(
        shares=_draw.normal(source, ranks, tokens, hidden, dtype="bfloat16"),
        residual=_draw.normal(source, tokens, hidden, dtype="bfloat16"),
        gamma=_draw.normal(source, hidden, std=0.5, dtype="bfloat16") + 1,
        implementation=implementation,
        strategy=strategy,
        group=group,
    )


def build() -> None:
    """Compiles FlashInfer's communication module, minutes without a word, before the ranks meet."""
    importlib.import_module("flashinfer.jit.comm").gen_trtllm_comm_module().build_and_load()


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    ranks = len(inputs["shares"])
    asked = dict(
        share=inputs["shares"][_ranks.rank()],
        residual=inputs["residual"],
        gamma=inputs["gamma"],
        residual_out=torch.empty_like(inputs["residual"]),
    )
    if inputs["implementation"] == "nccl":
        return _nccl(_ranks.group(ranks), **asked)
    workspace = _workspace(_ranks.group(ranks), inputs)
    return _fused(function, workspace, inputs["strategy"], **asked)


def _workspace(group: Any, inputs: dict[str, Any]) -> Any:
    library = importlib.import_module("flashinfer.comm")
    ranks, tokens, hidden = inputs["shares"].shape
    create = library.create_allreduce_fusion_workspace
    asked = dict(backend="trtllm", world_size=ranks, rank=_ranks.rank())
    asked.update(max_token_num=tokens, hidden_dim=hidden, dtype=inputs["shares"].dtype)
    if inputs["group"] == "comm_backend":
        asked["comm_backend"] = _backend_class()(group=group)
    elif inputs["group"] == "group":
        if "group" not in inspect.signature(create).parameters:
            raise NotImplementedError("this version's create_allreduce_fusion_workspace takes no group")
        asked["group"] = group
    return create(**asked)


def _backend_class() -> Any:
    for module in ("comm_backend", "mnnvl"):  # where it moved to, where it was
        try:
            return importlib.import_module(f"flashinfer.comm.{module}").TorchDistBackend
        except (ModuleNotFoundError, AttributeError):
            continue
    raise NotImplementedError("this version has no TorchDistBackend")


def _fused(function: Any, workspace: Any, strategy: str, *, share, residual, gamma, residual_out) -> Any:
    import torch

    pattern = importlib.import_module("flashinfer.comm").AllReduceFusionPattern.kARResidualRMSNorm
    norm_out = torch.empty_like(residual_out)
    asked = dict(input=share, workspace=workspace, pattern=pattern, use_oneshot=strategy == "oneshot")
    asked.update(residual_in=residual, rms_gamma=gamma, rms_eps=EPS)
    asked.update(residual_out=residual_out, norm_out=norm_out)

    def call() -> Any:
        function(**asked)
        return residual_out, norm_out

    call.outputs = [residual_out, norm_out]  # type: ignore[attr-defined]
    return call


def _nccl(group: Any, *, share, residual, gamma, residual_out) -> Any:
    import torch
    import torch.distributed as dist

    def call() -> Any:
        residual_out.copy_(share)
        dist.all_reduce(residual_out, group=group)
        residual_out.add_(residual)
        return residual_out, torch.nn.functional.rms_norm(residual_out, gamma.shape, gamma, EPS)

    return call


def outputs(result: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    residual, norm = result
    return {"residual": residual.float(), "norm": norm.float()}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    summed = inputs["residual"].double()
    for share in inputs["shares"]:
        summed = summed + share.double()
    scale = (summed.square().mean(dim=-1, keepdim=True) + EPS).rsqrt()
    return {"residual": summed, "norm": summed * scale * inputs["gamma"].double()}


def cost(*, ranks, bystanders, tokens, hidden, implementation, strategy, group) -> dict[str, Any]:
    """In a rank's memory: share and residual read, both answers written; over NVLink at least a message comes in.

    Other ranks' shares are not known here, so their sum, a message of this size, must arrive in some form.
    """
    message = 2 * tokens * hidden
    flops = tokens * hidden * (ranks + 4)
    return dict(
        bytes=4 * message + 2 * hidden, link_bytes=message if ranks > 1 else 0, flops=flops, unit="fp32"
    )
