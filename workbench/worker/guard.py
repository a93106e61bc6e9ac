"""Stands between a runner and its worker: `python -I -S guard.py CONTROL_FD REPORT_FD MEMORY_MB COMMAND...`.

It adopts every orphan of the worker (a child subreaper), so that children in a session of their own are found
too, and ends the whole tree when it is told, when the runner is gone (its end of the control pipe closes),
when the tree takes more memory than it may, or when the worker has ended. Linux only.

Control: b"s" asks the worker for its stacks, b"k" ends the tree. Report: one JSON line at the end.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time

LOOK_EVERY_S = 0.1
LOOKS_A_SCAN = 10
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GIVE_UP_S = 20.0  # a process that the kernel cannot end (a driver call that never returns)
PAGE = os.sysconf("SC_PAGE_SIZE")


def main(control, report, memory_mb, command):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the runner decides; it closes the pipe when it goes
    worker = start(libc, command, keep_out=(control, report))
    facts = watch(worker, control, memory_mb)
    end_all()
    os.write(report, (json.dumps(facts) + "\n").encode())


def start(libc, command, keep_out):
    parent = os.getpid()
    worker = os.fork()
    if worker:
        return worker
    try:
        os.setsid()
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        for each in keep_out:
            os.close(each)
        prefer_for_oom()
        os.environ["WORKBENCH_GUARD"] = str(parent)
        os.execv(command[0], command)
    except OSError as problem:
        os.write(2, f"cannot start {command[0]}: {problem.strerror}\n".encode())
    finally:
        os._exit(126)


def prefer_for_oom():
    """If the machine itself runs out of memory, let this tree go first and not its neighbours."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def watch(worker, control, memory_mb):
    most, tree, looks = 0, {worker}, 0
    while True:
        status = ended(worker)
        if status is not None:
            return {"code": status, "most_mb": most}
        ready, _, _ = select.select([control], [], [], LOOK_EVERY_S)
        if ready:
            order = os.read(control, 1)
            if order == b"s":
                signal_one(worker, signal.SIGUSR2)
            else:
                return {"code": None, "most_mb": most}
        looks += 1
        if looks % LOOKS_A_SCAN == 0:  # reading all of /proc costs time on a busy node
            tree = descendants()
        used = sum(map(resident_mb, tree))
        most = max(most, used)
        if memory_mb and used > memory_mb and sum(map(own_mb, tree)) > memory_mb:
            return {"code": None, "most_mb": most, "over_memory": True}


def ended(worker):
    """Exit code of the worker (negative: a signal), or None while it lives; reaps orphans on the way."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == worker:
            return os.waitstatus_to_exitcode(status)


def end_all():
    """Kill until nobody is left: whoever forks meanwhile is found in the next round."""
    last = time.monotonic() + GIVE_UP_S
    while time.monotonic() < last and (tree := descendants()):
        for pid in tree:
            signal_one(pid, signal.SIGKILL)
        reap()
        time.sleep(0.005)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def signal_one(pid, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):  # gone, or become another user's
        os.kill(pid, number)


def descendants():
    """Every process below this one, found by parent numbers; orphans have become our own children."""
    below, parents = {os.getpid()}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parents[int(name)] = parent_of(name)
    grown = True
    while grown:
        new = {pid for pid, parent in parents.items() if parent in below} - below
        below |= new
        grown = bool(new)
    return below - {os.getpid()}


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def resident_mb(pid):
    try:
        with open(f"/proc/{pid}/statm") as file:
            pages = file.read().split()
        return (int(pages[1]) - int(pages[2])) * PAGE // 2**20  # without what is shared with files
    except (OSError, IndexError, ValueError):
        return 0


def own_mb(pid):
    """As `resident_mb`, but what forks have in common counts once; slow to read, so asked only near the limit."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            sizes = dict(line.split(":", 1) for line in file if line.startswith("Pss_Anon:"))
            return int(sizes["Pss_Anon"].split()[0]) // 1024
    except (OSError, KeyError, ValueError):
        return resident_mb(pid)  # an older kernel


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
