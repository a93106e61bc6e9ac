"""Triton's driver, replaced by one for a GPU that is not there; and whatever a driver loads and launches, heard.

The library chooses layouts, blocks and options for the card of `pretence`; Triton compiles for its target and asks
its driver to load and to launch. There the stand-in does nothing. What the architecture cannot hold, Triton refuses
before that in its own words, by the shared memory that the card has.
"""

import os
import tempfile
from typing import Any

from . import cubins, pretence

OPTIONS = ("num_warps", "num_stages", "num_ctas")
READ = ("registers", "spill_bytes", "instructions", "does_nothing")
MOST_THREADS = 1024  # of a block; ptxas keeps to the block's size, which Triton states, or fails


class Utils:
    """What Triton has in C in its driver."""

    def __init__(self, card):
        self.card = card

    def get_device_properties(self, device):
        return {
            "max_shared_mem": self.card.shared_memory_per_block_optin, "max_num_regs": pretence.REGISTERS,
            "multiprocessor_count": self.card.multi_processor_count, "warpSize": self.card.warp_size,
        }  # fmt: skip

    def load_binary(self, name, cubin, shared, device):
        """Module, function, registers and words of local memory of a thread, threads a block may have."""
        return None, None, 0, 0, MOST_THREADS


class StandIn:
    """What it lacks is noted as unknown of the card, and is an AttributeError."""

    def __init__(self, card):
        self.card, self.utils = card, Utils(card)
        self.launcher_cls: Any = lambda source, metadata: lambda *_, **__: None

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 10 * self.card.major + self.card.minor, self.card.warp_size)

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=0):
        return self.card.major, self.card.minor

    def get_device_interface(self):
        import torch

        return torch.cuda

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", 0)

    def __getattr__(self, name):
        self.__dict__["card"].unknown.append(f"driver.{name}")
        raise AttributeError(f"the stand-in for Triton's driver has no {name}")


def hear(driver, cuobjdump):
    """A list that gets a dict for each kernel when it is made ready or launched; whoever reads it empties it."""
    heard: list[dict[str, Any]] = []
    launcher_cls, load_binary = driver.launcher_cls, driver.utils.load_binary
    ready: list[dict[str, Any]] = []  # Triton makes the launcher, then loads what it will launch

    def launcher(source, metadata):
        facts = {"name": metadata.name, "shared_bytes": metadata.shared}
        facts.update({option: getattr(metadata, option) for option in OPTIONS if hasattr(metadata, option)})
        ready[:] = [facts]
        heard.append(facts)
        launch = launcher_cls(source, metadata)

        def launched(*arguments, **options):
            if facts not in heard:
                heard.append(facts)
            return launch(*arguments, **options)

        return launched

    def load(name, cubin, shared, device):
        for facts in ready:
            facts.update(read(cubin, cuobjdump))
        return load_binary(name, cubin, shared, device)

    driver.launcher_cls, driver.utils.load_binary = launcher, load
    return heard


def read(cubin, cuobjdump):
    """What the code of a cubin with one kernel tells; `unread` says why nothing does."""
    with tempfile.NamedTemporaryFile(suffix=".cubin", delete=False) as file:
        file.write(cubin)
    try:
        facts = cubins.read(file.name, cuobjdump)[0]
        return {name: facts[name] for name in READ if name in facts}
    except (OSError, RuntimeError, IndexError) as problem:
        return {"unread": f"{problem} (an older cuobjdump does not know newer families)"[:300]}
    finally:
        os.unlink(file.name)
