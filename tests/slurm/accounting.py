"""Slurm's accounting on this machine alone: a MariaDB of its own, with a socket and no port, and a slurmdbd."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

NEEDED = ("mariadbd", "slurmdbd", "sacct")
TABLES = "/usr/share/mysql/mysql_system_tables.sql"
CONFIGURATION = """AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=anybody
StorageLoc=accounting
"""
OF_SLURM = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket
"""


def configure(folder: Path, **facts: Any) -> str:
    """Writes slurmdbd's file; the lines for that of Slurm."""
    file = folder / "slurmdbd.conf"
    file.write_text(CONFIGURATION.format(folder=folder, **facts))
    file.chmod(0o600)
    return OF_SLURM.format(folder=folder, **facts)


def start(
    folder: Path, program: Callable[..., None], until: Callable[[Callable[[], bool], str], None]
) -> None:
    """Starts both by `program(name, *arguments, **variables)`; `until` waits. Whoever reaches the socket is let in."""
    data, socket = folder / "accounting", folder / "mariadb.socket"
    data.mkdir()
    options = ["--no-defaults", f"--datadir={data}", f"--socket={socket}", f"--pid-file={folder}/mariadb.pid"]
    options += ["--skip-networking", "--skip-grant-tables", "--innodb-flush-log-at-trx-commit=0"]
    options += ["--user=root"]  # where root starts it; else it is not heeded
    tables = f"create database mysql;\nuse mysql;\n{Path(TABLES).read_text()}"
    server = str(shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin"))
    subprocess.run(
        [server, *options, "--bootstrap"], input=tables.encode(), check=True, capture_output=True, timeout=60
    )
    program("mariadbd", *options)
    until(socket.exists, "MariaDB has no socket")
    program("slurmdbd", "-D", MYSQL_UNIX_PORT=str(socket))
    until(lambda: "started" in (folder / "slurmdbd.out").read_text(), "slurmdbd does not start")
