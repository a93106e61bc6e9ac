"""Finding the function under the name that a version has for it."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from workbench.worker import find

KERNEL = SimpleNamespace(API="a_library.old.product", ALSO=("a_library.new.product",))


def told(kernel: object) -> dict[str, object]:
    facts: dict[str, object] = {}
    find.api(kernel, lambda stage: None, lambda **more: facts.update(more))
    return facts["found"]  # type: ignore[return-value]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    modules = {name: ModuleType(name) for name in ("a_library", "a_library.old", "a_library.new")}
    modules["a_library"].__path__ = []
    for name in ("old", "new"):
        exec("def product(a): pass", modules[f"a_library.{name}"].__dict__)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return modules


def test_the_first_name_comes_first(library: dict[str, ModuleType]) -> None:
    assert told(KERNEL)["api"] == "a_library.old.product"


def test_a_later_name_is_taken_where_the_first_is_gone(
    library: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "a_library.old")
    assert told(KERNEL) == {"api": "a_library.new.product", "module": "", "signature": "(a)"} | {
        "module": library["a_library.new"].product.__module__,
        "loaded": told(KERNEL)["loaded"],
    }


def test_libraries_that_an_earlier_trial_has_loaded_are_told(
    library: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "flashinfer", ModuleType("flashinfer"))
    assert "flashinfer" in told(KERNEL)["loaded"]  # type: ignore[operator]
    monkeypatch.delitem(sys.modules, "flashinfer")
    assert "flashinfer" not in told(KERNEL)["loaded"]  # type: ignore[operator]


def test_where_none_is_there_the_error_is_that_of_the_first() -> None:
    with pytest.raises(ModuleNotFoundError, match="a_library"):
        told(KERNEL)


def test_a_module_that_misses_something_itself_is_not_passed_over(
    library: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.delitem(sys.modules, "a_library.old")
    library["a_library"].__path__ = [str(tmp_path)]
    (tmp_path / "old.py").write_text("import not_installed_at_all\n")  # type: ignore[operator]
    with pytest.raises(ModuleNotFoundError, match="not_installed_at_all"):
        told(KERNEL)


def test_what_is_wrong_with_a_later_module_is_what_is_told(
    library: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    """Not that the first name is gone: the later one is what this version has."""
    for name in ("old", "new"):
        monkeypatch.delitem(sys.modules, f"a_library.{name}")
    library["a_library"].__path__ = [str(tmp_path)]
    (tmp_path / "new.py").write_text("from sys import no_such_name\n")  # type: ignore[operator]
    with pytest.raises(ImportError, match="no_such_name") as caught:
        told(KERNEL)
    assert caught.value.__context__ is None
