"""A real Slurm on this machine alone: one controller and two nodes of different fake GPU types, on the loopback.

`python -m tests.slurm.one_machine FOLDER` starts one there and says how to use it; it ends with Ctrl-C.
"""

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from . import accounting

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
NODES = {"hopper": ("sm90", "h100", 1), "blackwell": ("sm100", "b200", 2)}  # feature, GPU type, how many
NODE_TIMEOUT_S = 10
CONFIGURATION = """ClusterName=workbench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
{accounting}JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0,bf_interval=2,sched_interval=5
SlurmdParameters=config_overrides
SlurmdTimeout={timeout_s}
InactiveLimit=0
KillWait=3
ReturnToService=2
MinJobAge=600
GresTypes=gpu
{nodes}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=gpus Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=10
"""
NODE = (
    "NodeName={name} NodeAddr=127.0.0.1 NodeHostname={host} Port={port} CPUs=2 RealMemory=500 "
    "Feature={feature},{type} Gres=gpu:{type}:{count} State=UNKNOWN"
)


def missing(programs: Sequence[str] = NEEDED) -> str:
    """Why Slurm cannot be started here; empty where it can."""
    lacking = [name for name in programs if not shutil.which(name, path=_path())]
    return f"Slurm is not installed (no {', '.join(lacking)})" if lacking else ""


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Slurm:
    """Starts in its `with`, and ends every process that it has started at its end."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        self.accounts = not missing(accounting.NEEDED)  # whether there is a sacct that remembers
        self.variables = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": _path(),
            "WORKBENCH_SLURM": secrets.token_hex(8),  # by which the processes of its jobs are known
        }

    def __enter__(self) -> "Slurm":
        try:
            self._configure()
            self._munge()
            if self.accounts:
                accounting.start(self.folder, self.start, _until)
            self.start("slurmctld", "-D", "-c")
            for name in NODES:
                self.start_node(name)
            self.wait_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        with contextlib.suppress(Exception):
            self.ask("scancel", "--user", getpass.getuser())
        for name in reversed(list(self.started)):
            self.stop(name)
        self._end_jobs()

    def _configure(self) -> None:
        for part in ("state", *(f"spool-{name}" for name in NODES)):
            shutil.rmtree(self.folder / part, ignore_errors=True)
            (self.folder / part).mkdir(parents=True)
        host, user, ports = socket.gethostname().split(".")[0], getpass.getuser(), _free_ports(4)
        storage = "AccountingStorageType=accounting_storage/none\n"
        if self.accounts:
            storage = accounting.configure(self.folder, host=host, user=user, port=ports[3])
        lines, gres = [], []
        for (name, (feature, kind, count)), port in zip(NODES.items(), ports[1:3], strict=True):
            lines.append(
                NODE.format(name=name, host=host, port=port, feature=feature, type=kind, count=count)
            )
            for number in range(count):
                (self.folder / f"fake-{kind}-{number}").touch()
            gres.append(
                f"NodeName={name} Name=gpu Type={kind} File={self.folder}/fake-{kind}-[0-{count - 1}]\n"
            )
        (self.folder / "gres.conf").write_text("".join(gres))
        text = CONFIGURATION.format(
            host=host, ports=ports, user=user, folder=self.folder, timeout_s=NODE_TIMEOUT_S,
            nodes="\n".join(lines), accounting=storage,
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(text)

    def _munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        places = [f"--{what}={self.folder}/munge.{what.split('-')[0]}" for what in ("key-file", "socket")]
        places += [f"--{what}={self.folder}/munge.{what.split('-')[0]}" for what in ("pid-file", "log-file")]
        self.start("munged", "--foreground", "--force", *places, f"--seed-file={self.folder}/munge.seed")
        _until(lambda: (self.folder / "munge.socket").exists(), "munged has no socket")

    def start(self, program: str, *arguments: str, name: str = "", **variables: str) -> None:
        name = name or program
        with (self.folder / f"{name}.out").open("ab") as out:
            self.started[name] = subprocess.Popen(
                [str(shutil.which(program, path=_path())), *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, **self.variables, **variables}, start_new_session=True,
            )  # fmt: skip

    def start_node(self, name: str) -> None:
        self.start("slurmd", "-D", "-N", name, name=name)

    def stop(self, name: str, how: int = signal.SIGTERM) -> None:
        process = self.started.pop(name)
        process.send_signal(how)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def lose_node(self, name: str) -> None:
        """As where the power fails: the daemon and all that runs on its node are gone at once."""
        self.stop(name, signal.SIGKILL)
        self._end_jobs(node=name)

    def _end_jobs(self, node: str = "") -> None:
        """End what runs for jobs, on this node or all: the daemons' own processes first, or they report the others."""
        for process in [*self._steps(node), *self._of_jobs(node)]:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _steps(self, node: str) -> Iterator[psutil.Process]:
        """Known by the log they write to: their title is written over their variables."""
        logs = {str(self.folder / f"slurmd-{name}.log") for name in NODES if not node or name == node}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                step = "slurmstepd" in " ".join(process.cmdline())
                if step and logs & {each.path for each in process.open_files()}:
                    yield process

    def _of_jobs(self, node: str) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                told = process.environ()
                mine = told.get("WORKBENCH_SLURM") == self.variables["WORKBENCH_SLURM"]
                if mine and "SLURM_JOB_ID" in told and (not node or told.get("SLURMD_NODENAME") == node):
                    yield process

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            command, env={**os.environ, **self.variables}, capture_output=True, text=True, timeout=30
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def wait_up(self, wait_s: float = 30) -> None:
        """Until both nodes take jobs. Raises RuntimeError."""

        def up() -> bool:
            with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
                said = self.ask("sinfo", "-h", "-N", "-p", "gpus", "-o", "%t").split()
                return len(said) == len(NODES) and set(said) <= {"idle", "mix", "alloc"}
            return False

        _until(up, "the nodes do not take jobs", wait_s)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _until(true: Callable[[], bool], problem: str, wait_s: float = 10) -> None:
    last = time.monotonic() + wait_s
    while not true():
        if time.monotonic() > last:
            raise RuntimeError(problem)
        time.sleep(0.1)


if __name__ == "__main__":
    if why := missing():
        sys.exit(why)
    place = Path(sys.argv[1]).resolve()
    place.mkdir(parents=True, exist_ok=True)
    with Slurm(place) as slurm, contextlib.suppress(KeyboardInterrupt):
        print(f"export SLURM_CONF={slurm.variables['SLURM_CONF']}", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        signal.pause()
