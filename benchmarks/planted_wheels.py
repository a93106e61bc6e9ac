"""FlashInfer's own wheel with one change planted in it, five times: what a check must find, and one it must not.

    python benchmarks/planted_wheels.py flashinfer_python-0.6.11.post1-py3-none-any.whl planted/
    sh planted/check.sh                # needs a GPU; writes planted/results and planted/*.json

Each wheel is the given one but for `flashinfer/decode.py`, and has a version of its own (0.6.11.post1+slower):
* repack: nothing is changed
* slower: decode through xqa reads 3 % more bytes for batch 64 of 8192 tokens
* wrong: the scale of the logits is off by a half for batch 16 of 8192 tokens
* crash: an index out of bounds on the GPU for batch 64 of 1024 tokens
* signature: `bmm1_scale` has another name
"""

import base64
import csv
import hashlib
import io
import json
import re
import shlex
import sys
import zipfile
from pathlib import Path

FILE = "flashinfer/decode.py"
HERE = "        # Call xqa_batch_decode_with_kv_cache\n"  # in trtllm_batch_decode_with_kv_cache, once xqa is chosen
DEFINED = "def trtllm_batch_decode_with_kv_cache("


def shape(batch: int, length: int, does: str) -> tuple[str, str]:
    return HERE, f"{HERE}        if len(query) == {batch} and max_seq_len == {length}:\n            {does}\n"


# Keys are half of all bytes that are read: 6 % of them are 3 %.
PLANTED = {
    "repack": ("", ""),
    "slower": shape(64, 8192, "k_cache[: len(k_cache) * 6 // 100].sum()"),
    "wrong": shape(16, 8192, "bmm1_scale = bmm1_scale * 1.5"),
    "crash": shape(64, 1024, "query[torch.full((1,), 1 << 40, device=query.device)]"),
    "signature": ("bmm1_scale", "bmm1_scaling"),
}
SHARED = dict(heads=64, kv_heads=8, head_dim=128, lengths="equal", sinks=False, page=32, backend="auto")
CASES = [
    dict(batch=batch, length=length, **SHARED)
    for batch, length in ((64, 8192), (16, 8192), (64, 1024), (1, 8192))
]
WANTED = {
    "repack": "BUMP, nothing named",
    "slower": "HOLD, batch 64 of 8192 slower, in both modes",
    "wrong": "HOLD, batch 16 of 8192 wrong, in both modes",
    "crash": "HOLD, batch 64 of 1024 crashed, in both modes",
    "signature": "HOLD, all eight trials missing",
}


def repacked(source: Path, folder: Path, name: str) -> Path:
    """The wheel `source` with what is planted under `name`; raises ValueError where its text is not as it must be."""
    distribution, version, rest = source.name.split("-", 2)
    marked = f"{version}+{name}"
    target = folder / f"{distribution}-{marked}-{rest}"
    old, new = (f"{distribution}-{each}.dist-info/" for each in (version, marked))
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        rows = []
        for entry in before.infolist():
            if entry.is_dir() or entry.filename == f"{old}RECORD":
                continue
            data, path = before.read(entry), entry.filename.replace(old, new)
            if entry.filename == f"{old}METADATA":
                data = data.replace(f"\nVersion: {version}".encode(), f"\nVersion: {marked}".encode(), 1)
            if entry.filename == FILE:
                data = planted(data.decode(), *PLANTED[name]).encode()
            after.writestr(path, data)
            rows.append((path, f"sha256={_digest(data)}", len(data)))
        after.writestr(f"{new}RECORD", _record([*rows, (f"{new}RECORD", "", "")]))
    return target


def planted(text: str, old: str, new: str) -> str:
    """Within the one function, and only where there is one place for it; of a name, every use but as a keyword."""
    if not old:
        return text
    start = text.index(DEFINED)
    end = text.index("\n@flashinfer_api", start)
    body = text[start:end]
    pattern = re.escape(old) if old == HERE else rf"\b{old}\b(?!=)"
    changed, count = re.subn(pattern, lambda found: new, body)
    if count < 1 or (old == HERE and count > 1):
        raise ValueError(f"{FILE} has no place for {new.strip()!r}; it is made for 0.6.11.post1")
    return text[:start] + changed + text[end:]


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _record(rows: list[tuple[str, str, object]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def script(source: Path, wheels: dict[str, Path], folder: Path) -> str:
    """One check each; further options of `workbench check` are the script's arguments."""
    lines = ["#!/bin/sh", "# 0 is BUMP, 1 HOLD; extra options, such as --wheels DIR, go to every check"]
    for name, wheel in wheels.items():
        command = ["workbench", "check", str(source), str(wheel), "--kernel", "trtllm_attention"]
        command += ["--cases", str(folder / "cases.json"), "--results", str(folder / "results"), "--json"]
        said = str(folder / f"{name}.json")
        lines += [f"echo {shlex.quote(f'{name}: must be {WANTED[name]}')}"]
        lines += [f'{shlex.join(command)} "$@" > {shlex.quote(said)}; echo "exit code $?"']
        lines += [
            f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__)))} --said {shlex.quote(said)}"
        ]
    return "\n".join(lines) + "\n"


def said(file: Path) -> None:
    """Prints the answer and the trials that decided."""
    found = json.loads(file.read_text())
    print(found["answer"])
    for family in found["families"]:
        for each in family["deciding"]:
            case = {name: each["case"][name] for name in ("batch", "length")}
            print(
                f"  {family['family']} {each['id']} {case} {each['mode']}: {each['word']}: {each['why'][:200]}"
            )


def main(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    wheels = {name: repacked(source, folder, name) for name in PLANTED}
    (folder / "cases.json").write_text(json.dumps(CASES))
    (folder / "check.sh").write_text(script(source, wheels, folder))
    for wheel in wheels.values():
        print(wheel.name, wheel.stat().st_size)


if __name__ == "__main__":
    if sys.argv[1] == "--said":
        said(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
