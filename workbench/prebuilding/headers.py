"""Headers that a small toolkit lacks, out of NVIDIA's wheels of the toolkit's own release."""

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from workbench.environments import BuildError
from workbench.environments.installer import install

from .toolkit import Toolkit

PARTS = ("cublas", "cufft", "curand", "cusolver", "cusparse", "nvrtc", "nvjitlink")  # extras of cuda-toolkit


class Headers:
    """A folder of headers that grows when a compiler asks for one. `wheels`: taken from there, without a network."""

    def __init__(
        self, folder: Path, toolkit: Toolkit, python: Path, wheels: Path | None, say: Callable[[str], None]
    ):
        self.folder, self.toolkit, self.python = folder / f"headers-{toolkit.release}", toolkit, python
        self.wheels, self.say = wheels, say

    def variables(self) -> dict[str, str]:
        """For the compilers: searched last, after all that their commands name."""
        return dict.fromkeys(("CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"), str(self.folder))

    def supply(self, log: str) -> bool:
        """Whether something that the compiler missed is there now. Raises BuildError where it cannot be had."""
        missed = re.findall(r"fatal error: (\w+)\.h: No such file", log)
        parts = {part for part in PARTS for name in missed if name.lower().startswith(part)}
        wanted = sorted(part for part in parts if not (self.folder / f".{part}").exists())
        for part in wanted:
            self._fetch(part)
        return bool(wanted)

    def _fetch(self, part: str) -> None:
        self.say(f"the toolkit has no headers of {part}: taking them from NVIDIA's wheel")
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".fetching-") as unpacked:
            requirement = f"cuda-toolkit[{part}]=={self.toolkit.release}.*"
            # Past uv's cache: of hundreds of megabytes, only the headers are kept.
            install(self.python, [requirement], self.wheels, "--no-cache", "--target", unpacked)
            found = [each for each in Path(unpacked).rglob("include") if each.is_dir()]
            if not found:
                raise BuildError(f"{requirement} has no headers")
            for each in found:
                shutil.copytree(each, self.folder, dirs_exist_ok=True)
        (self.folder / f".{part}").touch()
