"""Says how far a run is: a bar with the time left where somebody watches, plain lines elsewhere.

Trials in a row that end alike make one line, for a reader looks for what is different.
"""

import sys
import time
from typing import Any

from workbench.untrusted import MESSAGE, plain

SILENT_S = 10.0  # a line waits for others like it so long at most
ENOUGH = 5  # trials, before the time left can be told


class Progress:
    """`begin` names what is at work, `end` says how it went. Everything goes to stderr."""

    def __init__(self, total: int, quiet: bool = False):
        self.total, self.quiet, self.done = total, quiet, 0
        self.since = self.said = time.monotonic()
        self.alike: list[tuple[str, str, str]] = []  # ended alike and not said yet: where, which, how
        self.places = 0  # how many `where` there are
        self.build_s: dict[str, float] = {}  # of the first trial of each `where`: the others find it built
        self.built_since: tuple[float, int] | None = None
        self.bar: Any = None
        if not quiet and sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self.bar = tqdm(total=total, unit="trial", dynamic_ncols=True)

    def expect(self, total: int, places: int = 0) -> None:
        """How many are left to do from here on, where that was not known from the start, and in how many `where`."""
        self._say_alike()
        self.total, self.done, self.since = total, 0, time.monotonic()
        self.places, self.build_s = places, {}
        if self.bar is not None:
            self.bar.reset(total)

    def say(self, text: str) -> None:
        self._say_alike()
        self._print(plain(text, MESSAGE))  # messages of called code come through here

    def _print(self, text: str) -> None:
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
        self._say_alike()
        left = (
            f", about {spent_s / (made - before) * (total - made) / 60:.0f} min left" if made > before else ""
        )
        text = f"building {plain(module, 60)}: {made} of {total}{left}"
        if self.bar is not None:
            self.begin(text)
        elif not self.quiet:
            print(f"    {text}", file=sys.stderr, flush=True)

    def end(self, where: str, which: str, how: str, outcome: str, build_s: float = 0.0) -> None:
        """`where` is a kernel and an environment, `which` the trial among theirs, `how` what became of it."""
        self.built_since = None
        self.build_s.setdefault(where, build_s)
        if self.alike and (self.alike[0][0], self.alike[0][2]) != (where, how):
            self._say_alike()
        self.done += 1
        if self.bar is not None:
            self.bar.update()
        if self.bar is None or outcome != "ok":
            self.alike.append((where, which, how))
        if time.monotonic() - self.said > SILENT_S:
            self._say_alike()

    def _say_alike(self) -> None:
        if not self.alike:
            return
        where, which, how = self.alike[0]
        many = len(self.alike)
        self.alike, self.said = [], time.monotonic()
        text = plain(f"{many} trials of {where}: {how}" if many > 1 else f"{where}: {which}: {how}", MESSAGE)
        self._print(text if self.bar is not None else f"[{self.done}/{self.total}] {text}{self._left()}")

    def _left(self) -> str:
        if self.done < ENOUGH:
            return ""
        built_s, built = sum(self.build_s.values()), len(self.build_s)
        trial_s = (time.monotonic() - self.since - built_s) / self.done
        left_s = trial_s * (self.total - self.done) + built_s / built * max(0, self.places - built)
        return f"  (about {left_s:.0f} s left)" if left_s >= 1 else ""

    def close(self) -> None:
        self._say_alike()
        if self.bar is not None:
            self.bar.close()
