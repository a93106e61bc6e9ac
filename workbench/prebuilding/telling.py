"""Says how far a module is: a bar with the time left where somebody watches, plain lines elsewhere."""

import sys
import time
from typing import Any

from workbench.untrusted import plain


class Telling:
    """Of one module. Everything goes to stderr; `quiet` says nothing at all."""

    def __init__(self, module: str, quiet: bool = False):
        self.module, self.quiet = plain(module, 60), quiet
        self.since = time.monotonic()
        self.first: int | None = None  # objects that were there before
        self.bar: Any = None

    def __call__(self, made: int, of: int) -> None:
        """`made` objects of `of` are there."""
        if self.first is None:
            self.first = made - 1
            if not self.quiet and sys.stderr.isatty():
                from tqdm import tqdm

                self.bar = tqdm(
                    total=of, initial=self.first, desc=self.module, unit="object", dynamic_ncols=True
                )
        if self.bar is not None:
            self.bar.update(made - self.bar.n)
        elif not self.quiet:
            print(f"{self.module}: {made} of {of}{self._left(made, of)}", file=sys.stderr, flush=True)

    def _left(self, made: int, of: int) -> str:
        assert self.first is not None
        minutes = (time.monotonic() - self.since) / (made - self.first) * (of - made) / 60
        return f", about {minutes:.0f} min left" if minutes >= 1 else ""

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
