"""Which releases run the same code: a digest of each module's machine code, and of each copy of triton_kernels.

    python benchmarks/same_code.py modules/sm90a --wheels WHEELS > results/same_code.json

`modules` is what `workbench prebuild --output` made. Two digests are equal where the instructions are, one by one, of
all kernels of the module; sources that differ may well compile to the same. triton_kernels compile from their own
Python, so theirs is of all files of the copy. Needs cuobjdump.
"""

import argparse
import hashlib
import json
import lzma
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from workbench import cuobjdump

XQA = re.compile(
    r"xqa_input_bf16_kv_cache_bf16_output_bf16_page_size_(\d+)_head_dim_(\d+)_head_group_ratio_8"
    r"_use_sliding_window_False_use_spec_dec_False_spec_q_seq_len_1"
)
# An instruction, the second half of its code on a line of its own, and the name of the function before.
LINE = re.compile(r"^\s+/\*(?:[0-9a-f]{4,}\*/.*| 0x[0-9a-f]+ \*/)$|^\s*Function : .*$", re.MULTILINE)
MXFP4 = ("mxfp4_swiglu", "mxfp4_combine", "mxfp4_mlp")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--wheels", required=True, type=Path)
    options = parser.parse_args()
    copies = {each.name.split("-")[1]: _of_copy(each) for each in options.wheels.glob("triton_kernels_*.whl")}
    triton = {"package": "triton-kernels-of-sglang-kernel", "kernels": MXFP4, "where": {}, "code": copies}
    groups = [*_modules(options.modules), triton]
    json.dump([{**each, "code": dict(sorted(each["code"].items()))} for each in groups], sys.stdout, indent=1)
    print()


def _modules(folders: Iterable[Path]) -> list[dict[str, Any]]:
    """A group for each module; of a release that is there twice, the first."""
    found: dict[str, dict[str, Any]] = {}
    for file in (file for folder in folders for file in sorted(folder.glob("flashinfer-*/*/*.so.xz"))):
        name, version = file.parts[-2], file.parts[-3].removeprefix("flashinfer-")
        if asked := _asked(name):
            group = found.setdefault(name, {"package": "flashinfer-python", **asked, "code": {}})
            if version not in group["code"]:
                group["code"][version] = _of_module(file)
    return list(found.values())


def _asked(module: str) -> dict[str, Any]:
    """The kernels and cases that run it; nothing for other modules."""
    if xqa := XQA.fullmatch(module):
        page, head_dim = map(int, xqa.groups())
        return {
            "kernels": ["trtllm_attention"],
            "where": {"page": page, "head_dim": head_dim, "window": -1, "q_len": 1},
        }
    if module == "fp4_quantization_90":
        return {"kernels": ["fp4_quantize"], "where": {"backend": "cuda"}}
    return {}


def _of_module(file: Path) -> str:
    with tempfile.NamedTemporaryFile(suffix=".so") as unpacked:
        unpacked.write(lzma.decompress(file.read_bytes()))
        unpacked.flush()
        said = subprocess.run(
            [cuobjdump.find(), "--dump-sass", unpacked.name], capture_output=True, text=True, check=True
        )
    return _digest(_plain(said.stdout))


def _plain(code: str) -> Iterator[bytes]:
    """Functions in the order of their names, which hold a hash of a path where they are local to a file."""
    functions = ["\n".join(LINE.findall(part)) for part in re.split(r"(?=^\s*Function : )", code, flags=re.M)]
    for function in sorted(re.sub(r"_?INTERNAL_[0-9a-f]+", "", each) for each in functions if each):
        yield function.encode()


def _of_copy(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        files = sorted(each for each in archive.namelist() if ".dist-info/" not in each)
        return _digest(file.encode() + b"\0" + archive.read(file) for file in files)


def _digest(parts: Iterator[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()[:16]


if __name__ == "__main__":
    main()
