"""Which GPU is here, what family it is of, and how fast it can be at most. Reads the driver, sets nothing.

Nominal peaks are datasheet figures for dense operands; a new GPU is one line. Datasheets give NVLink's two
directions together (900 GB/s for H100 and H200, 1.8 TB/s for Blackwell); here is half of it.
"""

import contextlib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Any

from workbench.results import LONGEST_GPU
from workbench.untrusted import whole
from workbench.worker.pretence import CARDS

COMPILED_ONLY = "compiled only"


@dataclass(frozen=True)
class Peak:
    """Terabytes and teraoperations (dense) a second; `link` is NVLink's, in one direction."""

    memory: float
    bf16: float
    fp8: float = 0.0
    fp4: float = 0.0
    link: float = 0.0


PEAKS: Mapping[str, Peak] = {
    "H100": Peak(3.35, 989, 1978, link=0.45),
    "H200": Peak(4.8, 989, 1978, link=0.45),
    "B200": Peak(8.0, 2250, 4500, 9000, 0.9),
    "B300": Peak(8.0, 2250, 4500, 14000, 0.9),
    "GB200": Peak(8.0, 2500, 5000, 10000, 0.9),
    "GB300": Peak(8.0, 2500, 5000, 15000, 0.9),
    "RTX PRO 6000": Peak(1.792, 467.8, 935.6, 1871),
    "RTX 5090": Peak(1.792, 210, 419, 1676),
    "GB10": Peak(0.273, 125, 250, 500),
}
AMOUNTS = ("bytes", "flops", "link_bytes")  # what a cost may say: moved in memory, done, come in over NVLink
UNITS = ("bf16", "fp8", "fp4", "fp32")  # what a cost may count in; of fp32 memory alone sets the floor
MOST_CARDS = 64  # in one machine
FAMILIES = {8: "SM8x", 9: "SM90", 10: "SM100", 11: "SM110", 12: "SM120"}
"""By the major number: 10.0 and 10.3 are one family, 12.0 and 12.1 another."""


@dataclass(frozen=True)
class Gpu:
    """`sm` is the compute capability, such as "9.0"; `uuid` names the card on this machine and is never stored.

    `real` is False for an SM that was given, to compile for.
    """

    name: str
    sm: str
    uuid: str
    driver: str
    memory_gib: float
    real: bool = True

    @property
    def uuid_hash(self) -> str:
        return hashlib.sha256(self.uuid.encode()).hexdigest()[:12]

    @property
    def family(self) -> str:
        return family(self.sm)


def family(sm: str) -> str:
    major = whole(sm.split(".")[0])
    return "unknown" if major is None else FAMILIES.get(major, f"SM{major}x")


def here(index: int = 0) -> Gpu | None:
    """The GPU with this index, or None where there is no driver, no GPU or no such index."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle).total
        return Gpu(
            name=_name(str(pynvml.nvmlDeviceGetName(handle))),
            sm=f"{major}.{minor}",
            uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
            driver=str(pynvml.nvmlSystemGetDriverVersion()),
            memory_gib=round(memory / 2**30, 1),
        )
    except Exception:  # no library, no driver, no such card: all mean that there is nothing to run on
        return None


def _name(told: str) -> str:
    """As results may have it: what is not printable ASCII becomes a question mark."""
    return re.sub(r"[^ -~]", "?", told)[:LONGEST_GPU].strip() or "unnamed GPU"


def beside(index: int, count: int) -> list[Gpu]:
    """Up to `count` more GPUs of the same model as the one with this index: those after it, then those before."""
    if (first := here(index)) is None:
        return []
    order = [*range(index + 1, index + MOST_CARDS), *range(index)]
    found = (here(each) for each in order)
    same = (gpu for gpu in found if gpu and gpu.name == first.name and gpu.uuid != first.uuid)
    return list(islice(same, count))


def links(cards: Sequence[Gpu]) -> dict[str, Any]:
    """How cards reach each other, as NVML tells: `nvlink` whether every pair may, `links` active on the first one."""
    try:
        import pynvml

        handles = [pynvml.nvmlDeviceGetHandleByUUID(card.uuid) for card in cards]
        nvlink_caps = pynvml.NVML_P2P_CAPS_INDEX_NVLINK
        asked = (pynvml.nvmlDeviceGetP2PStatus(*pair, nvlink_caps) for pair in permutations(handles, 2))
        nvlink = all(status == pynvml.NVML_P2P_STATUS_OK for status in asked)
        return {"nvlink": nvlink, "links": _active_links(pynvml, handles[0])}
    except Exception:
        return {}


def _active_links(pynvml: Any, handle: Any) -> int:
    active = 0
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        with contextlib.suppress(pynvml.NVMLError):  # a card has fewer than the most there may be
            active += pynvml.nvmlDeviceGetNvLinkState(handle, link)
    return active


def given(sm: str, option: str = "--sm") -> Gpu:
    """An SM to compile for, without a card; written 90, 9.0a, sm_90 or SM90. Raises ValueError that lists them."""
    digits = re.sub(r"(?i)^sm_?|\.|[af]$", "", sm.strip())
    written = f"{digits[:-1]}.{digits[-1:]}"
    if written not in CARDS:
        known = ", ".join(each.replace(".", "") for each in CARDS)
        raise ValueError(f"{option} {sm}: there is a stand-in for {known}")
    return Gpu(f"SM{digits}, {COMPILED_ONLY}", written, "", "", 0.0, real=False)


def snapshot(index: int = 0) -> dict[str, Any]:
    """Clocks, power, temperature and throttle reasons as they are now; empty where they cannot be read."""
    try:
        import pynvml

        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        return {
            "sm_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
            "memory_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
            "power_w": round(pynvml.nvmlDeviceGetPowerUsage(handle) / 1000, 1),
            "temperature_c": pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
            "throttle": _throttle(pynvml, handle),
        }
    except Exception:
        return {}


HARMLESS = ("Idle", "None", "ApplicationsClocksSetting", "UserDefinedClocks", "All")


def _throttle(pynvml: Any, handle: Any) -> list[str]:
    mask = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    prefix = "nvmlClocksThrottleReason"
    bits = {name[len(prefix) :]: getattr(pynvml, name) for name in dir(pynvml) if name.startswith(prefix)}
    return sorted(
        name
        for name, bit in bits.items()
        if isinstance(bit, int) and bit and mask & bit and name not in HARMLESS
    )


def floor_us(cost: Mapping[str, Any], gpu_name: str) -> float | None:
    """The shortest possible time: bytes over bandwidth or operations over peak, whichever is longest."""
    peak = _peak(gpu_name)
    if peak is None:
        return None
    memory_us = cost.get("bytes", 0) / (peak.memory * 1e6)
    rate = getattr(peak, str(cost.get("unit", "bf16")), 0.0)
    compute_us = cost.get("flops", 0) / (rate * 1e6) if rate else 0.0
    link_us = cost.get("link_bytes", 0) / (peak.link * 1e6) if peak.link else 0.0
    return round(max(memory_us, compute_us, link_us), 4)


def _peak(gpu_name: str) -> Peak | None:
    matches = [name for name in PEAKS if name in gpu_name]
    return PEAKS[max(matches, key=len)] if matches else None
