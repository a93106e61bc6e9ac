"""What a wheel says of itself, read without installing it."""

import zipfile
from email.parser import HeaderParser
from pathlib import Path

from .installer import BuildError


def requires(wheel: Path) -> list[str]:
    """The requirements that it declares, as written. Raises BuildError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
            metadata = HeaderParser().parsestr(archive.read(name).decode("utf-8", "replace"))
    except (OSError, zipfile.BadZipFile, StopIteration) as error:
        raise BuildError(f"{wheel.name} cannot be read: {type(error).__name__}") from error
    return [str(each) for each in metadata.get_all("Requires-Dist", [])]
