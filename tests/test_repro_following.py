"""Names are followed as Python means them: scopes, files, substitutes, methods."""

import ast
import sys
from types import SimpleNamespace

import pytest

from workbench.repro import importing, wording
from workbench.repro.following import Following
from workbench.repro.scopes import bound, module_names
from workbench.repro.source import Name


def meant(text):
    return sorted({each.id for each in module_names(ast.parse(text).body[0])})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(a, b=c): return a + b + d", ["c", "d"]),
        ("def f(a: b, *c, **d) -> e: return c, d", ["b", "e"]),
        ("def f():\n    a = b\n    def g(): return a, c\n    return g", ["b", "c"]),
        ("def f(): return [a for a in a]", ["a"]),
        ("def f(): return [a + b for a in c for b in a if d]", ["c", "d"]),
        ("def f():\n    global a\n    a = 1", ["a"]),
        ("def f():\n    import a.b\n    from c import d as e\n    return a, d, e", ["d"]),
        ("def f():\n    try: a\n    except b as c: c", ["a", "b"]),
        ("def f():\n    with a as b: b\n    for c in d: c", ["a", "d"]),
        ("f = lambda a=b: a + c", ["b", "c", "f"]),
        ("@a\nclass C(b):\n    d = e\n    f = d\n    def g(self): return d", ["a", "b", "d", "e"]),
        ("def f():\n    if (a := b): return a", ["b"]),
        ("def f(a):\n    match a:\n        case [b, *c]: return b, c, d", ["d"]),
        ("a = {b: c for b in d}", ["a", "c", "d"]),
    ],
)
def test_what_a_name_in_a_scope_means(text, names):
    assert meant(text) == names


def test_what_a_statement_binds():
    assert bound(ast.parse("if a:\n    b = 1\nelse:\n    def c(): d = 1").body[0]) == {"b", "c"}
    assert bound(ast.parse("a, (b, *c) = d").body[0]) == {"a", "b", "c"}


@pytest.fixture
def followed(tmp_path):
    """`followed({file: text}, start)` -> the one text, run as a module, and its start."""

    def run(files, start="main", instead=(), **options):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        name = Name(tmp_path / "first.py", start)
        found = Following(name, dict(instead), {}, [tmp_path / "first.py"], **options)
        text = wording.body(found, lambda source: "")
        scope = {"__name__": "a module"}
        exec("\n".join([*importing.statements(wording.imports(found)), text]), scope)
        return text, scope[start]

    return run


def test_names_of_two_files_do_not_meet(followed):
    first = (
        "from . import _second\nGROUP = 1\ndef own(): return GROUP\ndef main(): return own(), _second.own()\n"
    )
    text, main = followed(
        {"first": first, "_second": "GROUP = 2\ndef own(): return GROUP\ndef idle(): pass\n"}
    )
    assert main() == (1, 2) and "def second_own" in text and "idle" not in text


def test_a_name_that_a_function_uses_for_its_own_is_not_given(followed):
    first = "from . import _two\ndef main(two_f=1): return _two.f(), two_f\n"
    assert followed({"first": first, "_two": "def f(): return 2\n"})[1]() == (2, 1)


def test_borrowed_and_handed_on_names(followed):
    files = {"first": "from ._two import f as g\ndef main(): return g()\n", "_two": "from ._three import f\n"}
    assert followed({**files, "_three": "import math\ndef f(): return math.floor(2.5)\n"})[1]() == 2


def test_what_a_constant_needs_comes_before_it(followed):
    first = "from . import _two\nA = _two.B + 1\ndef main(): return A + _two.f()\n"
    assert followed({"first": first, "_two": "B = 1\ndef f(): return B\n"})[1]() == 3


def test_methods_that_nobody_calls_are_left_out(followed):
    kept = "class A:\n    def __init__(self): self.n = 1\n\n    def used(self): return self.inner()\n\n"
    kept += "    def inner(self): return self.n\n\n    def idle(self): return self.other()\n\n"
    kept += "    def other(self): return 2\n"
    text, main = followed({"first": f"{kept}\n\ndef main(): return A().used()\n"})
    assert main() == 1 and "idle" not in text and "other" not in text


def test_comments_and_decorators_come_along(followed):
    first = "from functools import cache\n\n# Why.\n@cache\ndef f(): return 1  # type: ignore[x]\n\n"
    first += "def main(): return f()\n"
    text, _ = followed({"first": first})
    assert "# Why.\n@cache\ndef f(): return 1\n" in text


def test_torch_is_imported_once(followed, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(ones=lambda size: size))
    first = "def main():\n    import torch\n\n    return torch.ones(1)\n"
    text, main = followed({"first": first})
    assert "import" not in text and main() == 1
    assert "import torch" in followed({"first": first}, torch_on_top=False)[0]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"first": "from . import _two\ndef main(): return _two\n", "_two": ""}, "used as a value"),
        ({"first": "from . import _two\ndef main(): return _two.f()\n", "_two": ""}, "_two.py has no f"),
        (
            {"first": "from . import _two\ndef f(): pass\ndef main(): _two.g()\n",
             "_two": "from . import first\ndef g(): first.f()\n"},
            "need each other",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_one_file_says_so(followed, files, why):
    with pytest.raises(ValueError, match=why):
        followed(files)
