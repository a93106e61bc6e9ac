"""The entry of a bundle, on a machine that has nothing of ours: `python3 plan.zip [OPTION ...]`, as `workbench run`."""

import os
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - whoever starts it may have an older one
    sys.exit("Python 3.11 or newer is needed: python3.12 " + " ".join(sys.argv))


def main() -> None:
    from workbench.bundling.checking import BadBundle
    from workbench.bundling.opening import unpack
    from workbench.bundling.places import FOLDER

    file = Path(sys.argv[0]).absolute()
    try:
        root = unpack(file, FOLDER).root
    except (BadBundle, OSError) as problem:
        print(f"workbench: {problem}", file=sys.stderr)
        sys.exit(2)
    command = [sys.executable, "-m", "workbench", "run", "--bundle", str(file), *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": str(root)})


if __name__ == "__main__":
    main()
