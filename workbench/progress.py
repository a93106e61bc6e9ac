"""Says how far a run is: a bar with the time left where somebody watches, plain lines elsewhere."""

import sys
import time
from typing import Any

from workbench.untrusted import MESSAGE, plain


class Progress:
    """`begin` names what is at work, `end` says how it went. Everything goes to stderr."""

    def __init__(self, total: int, quiet: bool = False):
        self.total, self.quiet, self.done = total, quiet, 0
        self.since = time.monotonic()
        self.built_since: tuple[float, int] | None = None
        self.bar: Any = None
        if not quiet and sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self.bar = tqdm(total=total, unit="trial", dynamic_ncols=True)

    def expect(self, total: int) -> None:
        """How many are left to do, where that was not known from the start."""
        self.total = total
        if self.bar is not None:
            self.bar.reset(total)

    def say(self, text: str) -> None:
        text = plain(text, MESSAGE)  # messages of called code come through here
        if self.bar is not None:
            self.bar.write(text, file=sys.stderr)
        elif not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def begin(self, text: str) -> None:
        if self.bar is not None:
            self.bar.set_description_str(plain(text, 60))

    def building(self, module: str, made: Any, total: Any) -> None:
        """How far a long build is; the time left is what the objects so far have taken."""
        if not isinstance(made, int) or not isinstance(total, int):
            return
        self.built_since = self.built_since or (time.monotonic(), made)
        since, before = self.built_since
        spent_s = time.monotonic() - since
        left = (
            f", about {spent_s / (made - before) * (total - made) / 60:.0f} min left" if made > before else ""
        )
        text = f"building {plain(module, 60)}: {made} of {total}{left}"
        if self.bar is not None:
            self.begin(text)
        elif not self.quiet:
            print(f"    {text}", file=sys.stderr, flush=True)

    def end(self, text: str, outcome: str) -> None:
        self.done += 1
        text = plain(text, MESSAGE)
        self.built_since = None
        if self.bar is not None:
            self.bar.update()
            if outcome != "ok":
                self.bar.write(text, file=sys.stderr)
        elif not self.quiet:
            print(f"[{self.done}/{self.total}] {text}{self._left()}", file=sys.stderr, flush=True)

    def _left(self) -> str:
        left_s = (time.monotonic() - self.since) / self.done * (self.total - self.done)
        return f"  (about {left_s:.0f} s left)" if left_s >= 1 else ""

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
