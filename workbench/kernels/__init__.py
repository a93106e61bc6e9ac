"""The kernels: one file each, found by being in this folder; there is no list to edit.

A kernel is a module with API, CASES, TOLERANCE, VARIES and the functions inputs, prepare, reference and
cost; `fp4_quantize.py` shows all of them. These files also run inside other people's environments: the
standard library only at the top, Python 3.10 syntax. A name that starts with `_` is a piece which
several kernels share.
"""

import importlib
import importlib.util
import os
import pkgutil
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType


def names() -> list[str]:
    """The kernels of this folder, in alphabetical order."""
    return sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))


def get(name: str) -> ModuleType:
    """The kernel of that name; LookupError, with the names there are, if there is none."""
    if name not in names():
        raise LookupError(f"no kernel is called {name!r}; there are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name}")


def load_file(path: str | Path) -> ModuleType:
    """A kernel from a file of the user's own, read anew at each call; `from . import x` means its own folder.

    Raises FileNotFoundError where there is no such Python file, and whatever the file raises as it is read.
    """
    path = Path(path).resolve()
    if path.suffix != ".py" or not path.is_file():
        raise FileNotFoundError(f"no kernel file {path}")
    if path.parent == Path(__file__).resolve().parent:
        return get(path.stem)
    name = f"{_package(path.parent)}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # a .py file always has one
    module = importlib.util.module_from_spec(spec)
    # The source itself: a compiled file is told apart by size and second, and may be an older text's.
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


def _package(folder: Path) -> str:
    """The folder as a package, known by its place: two folders may hold files of one name."""
    name = "kernels_in_" + sha256(os.fsencode(str(folder))).hexdigest()[:8]
    if name not in sys.modules:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
    return name
