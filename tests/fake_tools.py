"""Fakes of compute-sanitizer and cuda-gdb: scripts that start or read nothing real and print real texts."""

import os
import stat
import sys
from pathlib import Path

SANITIZER = """#!{python}
# A fake. It starts the program with all pipes but the standard ones closed, and writes the report it was given.
import os, subprocess, sys
options, program = sys.argv[1:], []
for place, word in enumerate(options):
    if os.path.basename(word).startswith("python"):
        options, program = options[:place], options[place:]
        break
os.environ["WAS_SANITIZED"] = " ".join(options)
code = subprocess.run(program, close_fds=True).returncode
log = options[options.index("--log-file") + 1]
report = os.environ.get("FAKE_REPORT", "")
if report:
    with open(log, "w") as file:
        file.write(report)
sys.exit(code)
"""
DEBUGGER = """#!{python}
# A fake. It prints what it was given, and says which files it was asked about.
import os, sys, time
time.sleep(float(os.environ.get("FAKE_DEBUGGER_S", "0")))
assert os.path.isfile([word for word in sys.argv if word.startswith("target cudacore ")][0].split()[-1])
print(os.environ.get("FAKE_BACKTRACE", ""))
"""


def put_on_path(folder: Path, monkeypatch, **scripts: str) -> None:
    """Write each script under its name (`_` is a dash) and put their folder first on the PATH."""
    folder.mkdir(exist_ok=True)
    for name, text in scripts.items():
        file = folder / name.replace("_", "-")
        file.write_text(text.replace("{python}", sys.executable))
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
