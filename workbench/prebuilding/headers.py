"""Headers that a small toolkit lacks, out of NVIDIA's wheels of the toolkit's own release."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from workbench.environments import BuildError
from workbench.environments.alone import alone
from workbench.environments.installer import install

from .toolkit import Toolkit

PARTS = ("cublas", "cufft", "curand", "cusolver", "cusparse", "nvrtc", "nvjitlink")  # extras of cuda-toolkit


class Headers:
    """Folders of headers, one a part, that come when a compiler asks. `wheels`: taken from there, without a network."""

    def __init__(
        self, folder: Path, toolkit: Toolkit, python: Path, wheels: Path | None, say: Callable[[str], None]
    ):
        self.folder, self.toolkit, self.python = folder / f"headers-{toolkit.release}", toolkit, python
        self.wheels, self.say = wheels, say

    def variables(self) -> dict[str, str]:
        """For the compilers: searched last, after all that their commands name."""
        there = os.pathsep.join(str(self.folder / part) for part in PARTS if self._has(part))
        return dict.fromkeys(("CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"), there) if there else {}

    def supply(self, log: str) -> bool:
        """Whether something that the compiler missed is there now. Raises BuildError where it cannot be had."""
        missed = re.findall(r"fatal error: (\w+)\.h: No such file", log)
        parts = {part for part in PARTS for name in missed if name.lower().startswith(part)}
        wanted = sorted(part for part in parts if not self._has(part))
        for part in wanted:
            self._fetch(part)
        return bool(wanted)

    def _has(self, part: str) -> bool:
        return (self.folder / part).is_dir()

    def _fetch(self, part: str) -> None:
        """Whole or not at all; what a run that was killed has left of hundreds of megabytes is cleared away."""
        with alone(self.folder, part, self.say):
            for left in self.folder.glob(f".{part}.half-*"):
                shutil.rmtree(left, ignore_errors=True)
            half = self.folder / f".{part}.half-{os.getpid()}"  # its own: the installer may outlive a run
            try:
                if not self._has(part):  # another run may have made it while we waited
                    self._make(part, half)
            finally:
                shutil.rmtree(half, ignore_errors=True)

    def _make(self, part: str, half: Path) -> None:
        self.say(f"the toolkit has no headers of {part}: taking them from NVIDIA's wheel")
        requirement = f"cuda-toolkit[{part}]=={self.toolkit.release}.*"
        # Past uv's cache: of hundreds of megabytes, only the headers are kept.
        install(self.python, [requirement], self.wheels, "--no-cache", "--target", str(half / "wheel"))
        found = [each for each in (half / "wheel").rglob("include") if each.is_dir()]
        if not found:
            raise BuildError(f"{requirement} has no headers")
        for each in found:
            shutil.copytree(each, half / part, dirs_exist_ok=True)
        (half / part).replace(self.folder / part)
