"""What a compiled kernel is made of, as cuobjdump tells it: registers, memory, instructions, and whether it writes.

The texts are cuobjdump's of `--dump-resource-usage` and `--dump-sass`; all but `read` is pure.
"""

import re
import subprocess

LIMIT_S = 300
USAGE = re.compile(r"Function ([^\s:]+):\s+(REG:\S+(?: \S+:\S+)*)")
BODY = re.compile(r"^\s*Function : (\S+)\s*$", re.MULTILINE)
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
WRITES = {
    "ST", "STG", "STAS", "RED", "REDG", "REDAS", "ATOM", "ATOMG", "SUST", "SURED", "UTMASTG", "UTMAREDG",
    "UBLKCP", "UBLKRED", "CALL", "BPT",
}  # fmt: skip
"""Opcodes that leave something behind: stores and atomics on global memory, bulk copies, calls, traps."""


def read(cubin, cuobjdump):
    """The kernels in a cubin or an object file. Raises OSError, RuntimeError where the tool is not there or fails."""
    return kernels(*(_said(cuobjdump, option, cubin) for option in ("--dump-resource-usage", "--dump-sass")))


def kernels(usage, code):
    """A dict a kernel, by its mangled name.

    `spill_bytes` are those of local memory a thread: its stack, where spills are. `does_nothing`: no instruction
    writes to memory that others see, or calls what may.
    """
    resources = _resources(usage)
    return [{"name": name, **resources.get(name, {}), **body(code)} for name, code in _bodies(code)]


def _resources(text):
    found = {}
    for name, said in USAGE.findall(text):
        numbers = {key: int(value) for key, value in re.findall(r"([A-Z]+):(\d+)", said)}
        found[name] = {
            "registers": numbers.get("REG", 0), "spill_bytes": numbers.get("STACK", 0) + numbers.get("LOCAL", 0),
            "shared_bytes": numbers.get("SHARED", 0),
        }  # fmt: skip
    return found


def _bodies(text):
    parts = BODY.split(text)
    return zip(parts[1::2], parts[2::2], strict=True)


def body(code):
    """Padding behind the end does not count: NOPs, and the branch to itself before them."""
    names = INSTRUCTION.findall(code)
    while names and names[-1] in ("NOP", "BRA"):
        names.pop()
    return {"instructions": len(names), "does_nothing": not WRITES.intersection(names)}


def _said(cuobjdump, option, cubin):
    done = subprocess.run(
        [cuobjdump, option, cubin], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise RuntimeError(f"cuobjdump: {last[-1][:200]}")
    return done.stdout.decode("utf-8", "replace")
