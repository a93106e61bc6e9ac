"""An existing interpreter: told apart from a requirement, found, and named without its path."""

import os
import shutil
from pathlib import Path


def is_interpreter(word: str) -> bool:
    """Whether a word of a spec is a path to one and neither a wheel nor an address."""
    return os.sep in word and not word.endswith(".whl") and "://" not in word and "@" not in Path(word).name


def find_interpreter(python: str) -> str | None:
    """Its path, links kept: a virtual environment is told by where its link lies."""
    path = Path(shutil.which(python) or python).expanduser()
    if path.is_dir():  # a virtual environment's folder
        path = path / "bin" / "python"
    if not (path.is_file() and os.access(path, os.X_OK)):
        return None
    return os.path.abspath(path)  # noqa: PTH100


def name_of(python: str) -> str:
    """A name without the path, which may hold a user's."""
    folder = Path(python).parent
    if folder.name == "bin":
        folder = folder.parent
    if folder.name.lstrip(".") in ("venv", "env", "virtualenv"):
        folder = folder.parent
    return f"python of {'home' if folder.name == Path.home().name else folder.name or 'the system'}"
