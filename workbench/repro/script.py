"""Puts a repro file together: what was seen and how to run it on top, then the pieces. Pure but for reading sources.

Texts of a result may have been written by anyone. They reach the file as literals, or as comments behind a word
of ours, on one line each, never on the first two (where a comment may name another encoding).
"""

import ast
from pathlib import Path
from typing import Any

from workbench.planning import Kernel
from workbench.repro import importing, symptom, wording
from workbench.repro.following import Following
from workbench.repro.header import header
from workbench.repro.source import Name, Source, read
from workbench.results import SANITIZED, Result
from workbench.untrusted import part

PARTS = Path(__file__).parent / "parts"
KERNEL, EAGER, GRAPHED, FENCED, WATCHED, HERE, APART = (
    PARTS / f"{name}.py" for name in ("kernel", "eager", "graphed", "fenced", "watched", "here", "apart")
)
CHECK = Path(__file__).parents[1] / "worker" / "check.py"
ATTEMPTS = {"eager": EAGER, **dict.fromkeys(SANITIZED, EAGER), "graph": GRAPHED}
FENCES = ("fenced", "fenced_start")
CONTRACT = ("API", "TOLERANCE", "VARIES", "inputs", "prepare", "reference", "raw", "outputs")
OF_A_PLAN = frozenset({"cost", "CASES", "DEVICES", "SMS", "needs_artifacts"})  # what a file has no use for
OPENING = '"""A trial of a kernel as one file: what was seen, how to run it, and the code."""'
WIDTH = 100


def write(result: Result, kernel: Kernel, tried: str) -> str:
    """The text of the file. `tried` is said of it on top. Raises ValueError where it cannot be made."""
    followed = follow(result, kernel, symptom.of(result))
    return "\n".join(
        [
            OPENING,
            "",
            *header(result, kernel, file_name(result), tried),
            "",
            *importing.statements(wording.imports(followed)),
            "",
            wording.body(followed, lambda source: _heading(source, kernel)),
            "",
            "",
            'if __name__ == "__main__":',
            "    sys.exit(main())",
            "",
        ]
    )


def file_name(result: Result) -> str:
    return f"repro_{result.trial.id}.py"


def follow(result: Result, kernel: Kernel, looked_for: symptom.Symptom) -> Following:
    """All that the attempt needs. Raises ValueError where there is no file of such an attempt."""
    instead = _of_the_kernel(kernel.file)
    if (attempt := _attempt(result)) != EAGER:
        instead[Name(EAGER, "attempt")] = Name(attempt, "attempt")
    with_torch = _uses_torch(kernel.file)
    instead[Name(CHECK, "_one")] = Name(CHECK, "_tensors" if with_torch else "_numbers")
    given = {
        "CASE": result.trial.case,
        "SYMPTOM": looked_for.words,
        "LIMIT_S": looked_for.limit_s,
        "EDGE": "start" if result.trial.mode == "fenced_start" else "end",
        "ONLY": _only(result),
    }
    pinned = {Name(KERNEL, name): assignment(name, value) for name, value in given.items()}
    if (found := result.found.get("api")) in getattr(kernel.module, "ALSO", ()):
        pinned[Name(kernel.file, "API")] = assignment("API", found)
    return Following(
        Name(APART if looked_for.ends else HERE, "main"),
        instead,
        pinned,
        [kernel.file, *sorted(PARTS.glob("*.py"))],
        OF_A_PLAN,
        with_torch,
    )


def _attempt(result: Result) -> Path:
    """The part that makes the attempt."""
    mode = result.trial.mode
    if "ranks" in result.trial.case:
        raise ValueError(
            f"there is no repro of a trial of {result.trial.case['ranks']} ranks: one file is one process"
        )
    if mode in FENCES:
        names = _only(result) or [
            part(each, "name") for each in part(result.forensic, "fence", "tensors") or ()
        ]
        return WATCHED if any(str(name).startswith("allocated[") for name in names) else FENCED
    if mode not in ATTEMPTS:
        raise ValueError(f"there is no repro of mode {mode!r}; there are {', '.join([*ATTEMPTS, *FENCES])}")
    return ATTEMPTS[mode]


def _only(result: Result) -> tuple[str, ...]:
    only = part(result.forensic, "fence", "only")
    return tuple(map(str, only)) if isinstance(only, list) else ()


def _of_the_kernel(file: Path) -> dict[Name, Name]:
    """What stands for the kernel is the kernel, where it says so."""
    its = read(file, file.read_text(encoding="utf-8")).statements
    stand_in = read(KERNEL, KERNEL.read_text(encoding="utf-8")).statements
    return {Name(KERNEL, name): Name(file, name) for name in stand_in if name in its and name in CONTRACT}


def _uses_torch(file: Path) -> bool:
    """Whether the kernel's file, or one that it imports from beside it, imports torch."""
    source = read(file, file.read_text(encoding="utf-8"))
    texts = [source.text, *(each.read_text(encoding="utf-8") for each in source.modules.values())]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)]
    return any(each.name.partition(".")[0] == "torch" for node in nodes for each in node.names)


def assignment(name: str, value: Any) -> str:
    """`NAME = literal`, of ASCII alone; a long object has a line for each of its entries."""
    line = f"{name} = {literal(value)}"
    if len(line) <= WIDTH or not isinstance(value, dict):
        return line
    entries = [f"    {literal(key)}: {literal(each)}," for key, each in value.items()]
    return "\n".join([f"{name} = {{", *entries, "}"])


def literal(value: Any) -> str:
    """A value of JSON, or a tuple of texts, as Python writes it, with the quotes that formatters like."""
    if isinstance(value, str):
        text = ascii(value)
        return text if '"' in text or "\\" in text else f'"{text[1:-1]}"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    return ascii(value)


def _heading(source: Source, kernel: Kernel) -> str:
    """What a file of pieces is, from its own words: all of the kernel's, the first sentence of another's."""
    said = ast.get_docstring(source.tree) or ""
    if source.file == kernel.file:
        return "\n".join(f"# {line}".rstrip() for line in said.splitlines())
    return f"# {said.partition(chr(10))[0]}" if said and source.file.parent != PARTS else ""
