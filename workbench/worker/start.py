"""The worker's entry: `python -I -X faulthandler start.py COMMANDS_FD FACTS_FD`, or `start.py modules REQUEST`.

`-I` keeps our folder off sys.path, where our file names would shadow installed ones; so the package is
loaded here by its place, under a name of its own.
"""

import importlib
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def package(name, folder):
    """Make the folder importable as a package called `name`."""
    init = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[folder])
    assert spec is not None  # a file's place always gives one
    sys.modules[name] = importlib.util.module_from_spec(spec)


def handed_down(number, flags):
    """The pipe with this number; where a tool between the guard and us has closed it, the guard's, opened anew."""
    ours, theirs = f"/proc/self/fd/{number}", f"/proc/{os.environ.get('WORKBENCH_GUARD')}/fd/{number}"
    if not os.path.exists(theirs) or (os.path.exists(ours) and os.path.samefile(ours, theirs)):
        return number
    return os.open(theirs, flags)


if __name__ == "__main__":
    package("workbench_worker", HERE)
    if sys.argv[1] == "modules":
        importlib.import_module("workbench_worker.modules").main(sys.argv[2])
    else:
        serve = importlib.import_module("workbench_worker.serve")
        serve.main(handed_down(int(sys.argv[1]), os.O_RDONLY), handed_down(int(sys.argv[2]), os.O_WRONLY))
