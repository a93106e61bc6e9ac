"""The runner's side of the border: starts a worker under its guard, gives it trials, and reads what it tells.

Nothing here knows what a kernel is, and nothing a worker says is trusted beyond being read.
"""

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from workbench import facts as border

FOLDER = Path(__file__).parent / "worker"
LIMITS_S: Mapping[str, float] = {  # every stage there is; a worker may tell no other
    "import": 120, "find": 60, "build": 1500, "prepare": 300, "tune": 600, "first_call": 300, "check": 300,
    "capture": 120, "replay": 120, "time": 120, "done": 30,
}  # fmt: skip
IDLE_BUILD_S = 120.0  # a build whose processes burn no CPU for so long is not compiling
STACKS_S = 0.5  # how long a worker has to write its stacks before it is ended
ENDING_S = 30.0
BEGIN_S = 15.0
TICK_S = 0.05
OUTSIDE = (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
MOST_TOLD = 1_000_000  # bytes of facts in one trial; ours are a few thousand
MARK = "WORKBENCH_WORKER"  # by this variable a tree is found again whose guard was killed


@dataclass
class Told:
    """All that is known of one trial after its worker was done with it, or gone."""

    stage: str = "import"
    began: bool = False  # it told anything at all; else whatever befell the worker is not this trial's doing
    stages: dict[str, float] = field(default_factory=dict)  # seconds
    facts: dict[str, Any] = field(default_factory=dict)
    end: str | None = None  # done, stopped, exception; None where the worker never said
    garbage: int = 0  # lines on the channel that are not ours
    killed: str | None = None  # limit, idle, memory: our own doing
    code: int | None = None  # exit code (negative: signal) where the worker ended by itself
    worker_over: bool = False
    stdout: str = ""
    stderr: str = ""
    who: str = ""  # of several ranks the one that is told of, such as "rank 1 of 2"
    own: Mapping[str, str] = field(
        default_factory=dict
    )  # and its own stdout and stderr, by which it is judged

    @property
    def ended_from_outside(self) -> bool:
        """As those do whom somebody ends: the guard gone, or by a signal that no kernel sends itself."""
        unsaid = self.end is None and self.killed is None
        return unsaid and self.code in (None, *(-each for each in OUTSIDE))

    @property
    def ended_by_somebody(self) -> bool:
        """The guard is gone, or the worker was asked to end: not for want of memory, and no library does either."""
        asked = self.code in (None, -signal.SIGTERM, -signal.SIGHUP)
        return asked and self.ended_from_outside and self.worker_over and not self.garbage


class Capped:
    """Keeps the head and the tail of a stream, however long it is."""

    HEAD, TAIL = 6_000, 18_000

    def __init__(self) -> None:
        self.head, self.tail, self.size = b"", b"", 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = self.HEAD - len(self.head)
        self.head += data[:room]
        self.tail = (self.tail + data[room:])[-self.TAIL :] if len(data) > room else self.tail

    def text(self) -> str:
        dropped = self.size - len(self.head) - len(self.tail)
        middle = f"\n... {dropped} bytes left out ...\n".encode() if dropped else b""
        return (self.head + middle + self.tail).decode("utf-8", errors="replace")


class Worker:
    """A warm process of one environment. `run` may be called until it answers with `worker_over`."""

    size: object = None  # of a team of ranks; this is one process alone

    def __init__(
        self, python: Path, variables: Mapping[str, str], memory_mb: int = 0, prefix: Sequence[str] = ()
    ):
        """`prefix` is a tool and its options that start the interpreter, such as compute-sanitizer's."""
        self.prefix = prefix
        self.mark = secrets.token_hex(8)
        commands_read, self.commands = os.pipe()
        self.facts, facts_write = os.pipe()
        control_read, self.control = os.pipe()
        self.report, report_write = os.pipe()
        interpreter = [*prefix, python, "-I", "-X", "faulthandler"]
        worker = [*interpreter, FOLDER / "start.py", commands_read, facts_write]
        guard = [sys.executable, "-I", "-S", FOLDER / "guard.py", control_read, report_write, memory_mb]
        theirs = (commands_read, facts_write, control_read, report_write)
        self.guard = subprocess.Popen(
            [str(part) for part in (*guard, *worker)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=theirs,
            env={**variables, MARK: self.mark},
            start_new_session=True,  # Ctrl-C is for the runner alone
        )
        for each in theirs:
            os.close(each)
        self.count, self.taken, self.over = 0, 0, False
        self.ordering = threading.Lock()  # an order of another thread must not meet a closed pipe
        self.heard: Callable[[Mapping[str, Any]], None] = lambda facts: None
        self._listen()

    def _listen(self) -> None:
        assert self.guard.stdout and self.guard.stderr
        self.selector = selectors.DefaultSelector()
        outs = {"stdout": self.guard.stdout.fileno(), "stderr": self.guard.stderr.fileno()}
        for name, handle in {"facts": self.facts, "report": self.report, **outs}.items():
            os.set_blocking(handle, False)
            self.selector.register(handle, selectors.EVENT_READ, name)
        self.buffers = {"facts": b"", "report": b""}
        self.outputs = {"stdout": Capped(), "stderr": Capped()}

    def run(
        self,
        command: Mapping[str, Any],
        limits_s: Mapping[str, float] = LIMITS_S,
        heard: Callable[[Mapping[str, Any]], None] = lambda facts: None,
    ) -> Told:
        """Do one trial. Never raises for what the worker does; it may take as long as the limits allow."""
        self.heard = heard
        self.count += 1
        self.taken = 0
        told = Told()
        line = json.dumps({**command, "n": self.count}) + "\n"
        with contextlib.suppress(BrokenPipeError):  # it died between two trials: the report says how
            os.write(self.commands, line.encode())
        watch = _Watch(self.guard.pid, limits_s)
        watch.enter("import")
        try:
            while told.end is None and not told.garbage and not self.over:
                self._read(told, watch, TICK_S)
                if told.killed is None and (why := self._late(told, watch) or watch.overdue(told.stage)):
                    told.killed = why
                    self._kill(told, watch)
            self._after_end(told, watch)
            if told.end is None:
                watch.leave()
                told.stages = watch.seconds
        except BaseException:
            self.kill()
            raise
        return self._finish(told)

    def _late(self, told: Told, watch: "_Watch") -> str | None:
        """A process that has run trials takes the next one at once, or something has stopped it."""
        waits = self.count > 1 and not told.began and time.monotonic() - watch.began > BEGIN_S
        return "limit" if waits else None

    def _after_end(self, told: Told, watch: "_Watch") -> None:
        if told.garbage and not self.over:
            self._end(told, watch)  # what it says cannot be told from what it does not
        elif told.facts.get("ends_worker"):
            self._wait_or_kill(told, watch)
        self._read(told, watch, 0)

    def _wait_or_kill(self, told: Told, watch: "_Watch") -> None:
        last = time.monotonic() + 5
        while not self.over and time.monotonic() < last:
            self._read(told, watch, TICK_S)
        if not self.over:
            self._kill(told, watch)

    def _finish(self, told: Told) -> Told:
        told.worker_over = self.over
        told.stdout, told.stderr = (self.outputs[name].text() for name in ("stdout", "stderr"))
        self.outputs = {"stdout": Capped(), "stderr": Capped()}
        if self.over:
            self._forget()
        return told

    def _read(self, told: Told, watch: "_Watch", wait_s: float) -> None:
        for key, _ in self.selector.select(wait_s):
            for _ in range(64):  # a flood must not keep us from looking at the clock
                try:
                    data = os.read(key.fd, 65536)
                except BlockingIOError:
                    break
                if not data:
                    self.selector.unregister(key.fd)
                    if key.data == "report" and not self.over:
                        self._end_orphans()
                    break
                self._take(key.data, data, told, watch)
        if not self.selector.get_map() and not self.over:
            self.over = True  # the guard itself is gone

    def _take(self, name: str, data: bytes, told: Told, watch: "_Watch") -> None:
        if name in self.outputs:
            self.outputs[name].add(data)
            return
        *lines, self.buffers[name] = (self.buffers[name] + data).split(b"\n")
        if name == "report":
            for line in lines:
                self._reported(line, told)
            return
        self.taken += len(data)
        if self.taken > MOST_TOLD:
            told.garbage, lines, self.buffers[name] = told.garbage or 1, [], b""
        for line in lines:
            self._fact(line, told, watch)

    def _fact(self, line: bytes, told: Told, watch: "_Watch") -> None:
        if told.garbage:
            return  # nothing after it can be believed
        try:
            facts = border.read(line)
            of, at, stage = facts.pop("n"), facts.pop("at"), facts.pop("stage", told.stage)
            if of > self.count or stage not in LIMITS_S:
                raise ValueError("another trial's, or no stage")
        except ValueError:
            told.garbage += 1
            return
        if of < self.count:
            return  # a thread that the trial before has left
        told.began = True
        if stage != watch.stage:
            told.stage = stage
            watch.enter(stage, at)
        if "end" in facts:
            told.end = facts.pop("end")
            watch.leave(at)
        told.stages = watch.seconds
        told.facts.update(facts)
        self.heard({**facts, "stage": stage})

    def _reported(self, line: bytes, told: Told) -> None:
        facts = json.loads(line)  # the guard is ours
        self.over = True
        told.code = facts.get("code")
        if facts.get("over_memory"):
            told.killed = "memory"

    def _end_orphans(self) -> None:
        """Somebody killed the guard: end all that it stood over, until a look finds nobody."""
        last = time.monotonic() + ENDING_S
        while time.monotonic() < last and (found := list(_marked(self.mark))):
            for process in found:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        self.over = True

    def _kill(self, told: Told, watch: "_Watch") -> None:
        """End the tree, once it has had time to write where it hangs."""
        if not self.prefix:  # a tool would die of the question
            self._order(b"s")
        last = time.monotonic() + STACKS_S
        while time.monotonic() < last and not self.over:
            self._read(told, watch, TICK_S)
        self._end(told, watch)

    def _end(self, told: Told, watch: "_Watch") -> None:
        self._order(b"k")  # first of all: whoever is impatient may interrupt the wait
        last = time.monotonic() + ENDING_S
        while time.monotonic() < last and not self.over:
            self._read(told, watch, TICK_S)
        self.over = True

    def _order(self, order: bytes) -> None:
        with self.ordering, contextlib.suppress(OSError):
            os.write(self.control, order)

    def stop(self) -> None:
        """End it while another thread is in `run`, which then returns; it may write its stacks first."""
        if not self.prefix:  # a tool would die of the question
            self._order(b"s")
        time.sleep(STACKS_S)
        self._order(b"k")

    def close(self, limit_s: float = LIMITS_S["done"]) -> Told:
        """Let it end by itself; what it did at its end is in `code` and `stderr`."""
        told = Told(stage="done")
        if self.over:
            return told
        os.close(self.commands)
        self.commands = -1
        watch = _Watch(self.guard.pid, {"done": limit_s})
        watch.enter("done")
        while not self.over:
            self._read(told, watch, TICK_S)
            if watch.overdue("done"):
                told.killed = "limit"
                self._kill(told, watch)
        return self._finish(told)

    def kill(self) -> None:
        """End the whole tree now."""
        if not self.over:
            self._end(Told(), _Watch(self.guard.pid, {}))
            self._forget()

    def _forget(self) -> None:
        self.selector.close()
        with self.ordering:
            for handle in (self.commands, self.facts, self.control, self.report):
                if handle >= 0:
                    os.close(handle)
            self.control = -1
        for stream in (self.guard.stdout, self.guard.stderr):
            if stream:
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.guard.wait(ENDING_S)


def _marked(mark: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                yield process


class _Watch:
    """The clock of one trial: seconds by stage, and whether the stage at hand has taken too long."""

    def __init__(self, pid: int, limits_s: Mapping[str, float]):
        self.pid, self.limits_s = pid, limits_s
        self.seconds: dict[str, float] = {}
        self.stage, self.since, self.began = "", time.monotonic(), time.monotonic()
        self.cpu_s, self.busy_at, self.looked_at = 0.0, time.monotonic(), 0.0

    def enter(self, stage: str, at: float | None = None) -> None:
        self.leave(at)
        self.stage, self.began = stage, time.monotonic()
        self.busy_at = self.began

    def leave(self, at: float | None = None) -> None:
        now = time.monotonic()
        now = now if at is None else min(max(at, self.since), now)  # one clock, but who knows who tells
        if self.stage:
            spent = max(0.0, now - self.since)
            self.seconds[self.stage] = round(self.seconds.get(self.stage, 0.0) + spent, 4)
        self.since = now

    def overdue(self, stage: str) -> str | None:
        now = time.monotonic()
        before = self.seconds.get(
            stage, 0.0
        )  # a stage may be entered again: while it builds, another is left
        if before + now - self.began > self.limits_s.get(stage, 300):
            return "limit"
        if stage == "build" and now - self.looked_at > 2:
            self.looked_at = now
            used = _cpu_s(self.pid)
            if used > self.cpu_s + 0.05:
                self.cpu_s, self.busy_at = used, now
            if now - self.busy_at > IDLE_BUILD_S:
                return "idle"
        return None


def _cpu_s(pid: int) -> float:
    """CPU seconds of the tree below; compilers come and go, so only growth means something."""
    total = 0.0
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total
