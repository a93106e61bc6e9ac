"""Our ninja file: the library's own with fewer objects, linked also where the toolkit has no driver library.

Commands that make objects stay as they are, to the letter, so objects of an earlier start are kept.
"""

import re
import subprocess
from collections.abc import Collection
from pathlib import Path

from .recipes import BUILD, Recipe
from .toolkit import Toolkit

VENDOR = ("cuda", "cudart", "nvrtc", "cublas", "cublasLt")  # there at run time, with torch and the driver
FILE = "workbench.ninja"


def write(recipe: Recipe, sources: Collection[Path], toolkit: Toolkit) -> Path:
    """The ninja file for those of the recipe's `sources`; beside it, stand-ins for libraries that are not here."""
    text = recipe.ninja.read_text(encoding="utf-8")
    kept = [made for made, source in recipe.objects.items() if source in sources]
    names = [name for name in re.findall(r"-l(\w+)", text) if name in VENDOR]
    places = _stand_ins(names, recipe.ninja.parent / "stand_ins", toolkit)
    # As needed is the default of some compilers, and an empty library is never needed.
    text = text.replace("ldflags =", f"ldflags = -Xlinker --no-as-needed -L{places}", 1)
    file = recipe.ninja.with_name(FILE)
    file.write_text(BUILD.sub(lambda step: _step(step, recipe, kept), text), encoding="utf-8")
    return file


def _step(step: "re.Match[str]", recipe: Recipe, kept: list[str]) -> str:
    made, rule, needs = step.groups()
    if made not in recipe.objects:
        return f"build {made}: {rule} {' '.join(kept)}"
    return step[0] if made in kept else f"# left out: {Path(needs).name}"


def _stand_ins(names: Collection[str], folder: Path, toolkit: Toolkit) -> Path:
    folder.mkdir(exist_ok=True)
    for name in sorted(set(names)):
        if any((toolkit.home / "lib64").glob(f"lib{name}.so")):
            continue
        version = "1" if name == "cuda" else toolkit.major
        soname, made = f"lib{name}.so.{version}", folder / f"lib{name}.so"
        command = ["c++", "-shared", "-x", "c++", "/dev/null", f"-Wl,-soname,{soname}", "-o", str(made)]
        subprocess.run(command, check=True, capture_output=True)
        (folder / soname).unlink(missing_ok=True)
        (folder / soname).symlink_to(made.name)
    return folder
