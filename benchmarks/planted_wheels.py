"""FlashInfer's own wheel with one change planted in it, five times: what a check must find, and one it must not.

    python benchmarks/planted_wheels.py flashinfer_python-0.6.11.post1-py3-none-any.whl planted/ [MODULES]

planted_checks.py runs the checks. Each wheel is the given one but for `flashinfer/decode.py`, and has a version of its
own (0.6.11.post1+slower); MODULES, a folder of FlashInfer's that were built ahead, is copied for each:
* repack: nothing is changed
* slower: one more pass over the queries for batch 64, a kernel of 2 to 3 us beside one of 83
* wrong: the scale of the logits is off by a half for batch 16
* crash: an index out of bounds on the GPU for batch 1
* signature: `sinks` has another name, which the calls of batch 8 use
"""

import base64
import csv
import hashlib
import io
import re
import shutil
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FILE = "flashinfer/decode.py"
HERE = "        # Call xqa_batch_decode_with_kv_cache\n"  # in trtllm_batch_decode_with_kv_cache, once xqa is chosen
DEFINED = "def trtllm_batch_decode_with_kv_cache("


def where(batch: int, does: str) -> tuple[str, str]:
    return HERE, f"{HERE}        if len(query) == {batch}:\n            {does}\n"


PLANTED = {
    "repack": ("", ""),
    "slower": where(64, "query = query * 1"),
    "wrong": where(16, "bmm1_scale = bmm1_scale * 1.5"),
    "crash": where(1, "query[torch.full((1,), 1 << 40, device=query.device)]"),
    "signature": ("sinks", "sink_logits"),
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


def main(source: Path, folder: Path, modules: Path | None = None) -> None:
    """All wheels beside the given one, and the modules of its version under each new version's name."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder)
    with ThreadPoolExecutor() as at_once:
        wheels = list(at_once.map(lambda name: repacked(source, folder, name), PLANTED))
    version = source.name.split("-")[1]
    for made in modules.rglob(f"flashinfer-{version}") if modules else ():
        place = folder / "modules" / made.relative_to(modules)
        for mark in ("", *(f"+{name}" for name in PLANTED)):
            shutil.copytree(made, place.with_name(f"{place.name}{mark}"), dirs_exist_ok=True)
    for wheel in wheels:
        print(wheel.name, wheel.stat().st_size)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
