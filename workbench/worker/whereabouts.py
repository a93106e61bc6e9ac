"""Finds the source of a Triton kernel among what is installed: `python -I whereabouts.py NAME` prints one JSON line.

A kernel's name on the device is its function's, and may go on with a specialisation (`_matmul_ogs` of
`_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1`). Files are read and nothing is imported. Answers
`{function, places: [{file, package, version}]}`: the functions of the longest name that fits; empty if there is none.
"""

import importlib.metadata
import json
import os
import re
import sys

LARGEST, MOST_PLACES = 2_000_000, 5
DEFINED = re.compile(rb"^def (\w+)\(")


def main(name):
    print(
        json.dumps(answer(name, [each for each in sys.path if os.path.basename(each).endswith("-packages")]))
    )


def answer(name, folders):
    found = [(function, folder, file) for folder in folders for function, file in functions(name, folder)]
    longest = max((len(function) for function, *_ in found), default=0)
    best = [each for each in found if len(each[0]) == longest]
    places = [{"file": file, **shipper(folder, file)} for _, folder, file in best[:MOST_PLACES]]
    return {"function": best[0][0], "places": places} if best else {}


def functions(name, folder):
    """(function, file) of each kernel whose name is this one's, or begins it; files relative to the folder."""
    for place, _, names in os.walk(folder):
        for each in names:
            if each.endswith(".py"):
                path = os.path.join(place, each)
                for function in kernels(path):
                    if name == function or name.startswith(function + "_"):
                        yield function, os.path.relpath(path, folder)


def kernels(path):
    """The functions in a file that have Triton's decorator."""
    try:
        if os.path.getsize(path) > LARGEST:
            return []
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return []
    return list(decorated(text)) if b"jit" in text and b"triton" in text else []


def decorated(text):
    jitted = False
    for line in text.splitlines():
        if line.startswith(b"@"):
            jitted = jitted or b"jit" in line
        elif found := DEFINED.match(line):
            if jitted:
                yield found.group(1).decode()
            jitted = False


def shipper(folder, file):
    """The package whose list of files has it, with its version; empty where none says so."""
    for package in importlib.metadata.distributions(path=[folder]):
        if f"\n{file}," in "\n" + (package.read_text("RECORD") or ""):
            return {"package": package.metadata["Name"], "version": package.version}
    return {}


if __name__ == "__main__":
    main(sys.argv[1])
