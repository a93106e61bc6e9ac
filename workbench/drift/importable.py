"""Whether the modules of a library can be imported, as far as its own files tell."""

from __future__ import annotations

import re

from .syntax import Module
from .tree import Tree
from .world import World


class Importable:
    """Answers are kept. Other packages are taken to be there."""

    def __init__(self, tree: Tree, world: World) -> None:
        self.tree, self.world = tree, world
        self._why: dict[str, str] = {}

    def broken(self, name: str) -> str:
        """Why importing this module, or a package around it, fails; "" if nothing is seen."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            module = self.world.find(".".join(parts[:count]))
            if module is None:
                continue
            if module.name not in self._why:
                self._why[module.name] = self._broken(module)
            if self._why[module.name]:
                return f"{module.name} cannot be imported: {self._why[module.name]}"
        return ""

    def _broken(self, module: Module) -> str:
        if module.broken:
            return module.broken
        for each in module.imports:
            certain = each.place.scope is module.top and not each.place.path
            if certain and self._own(each.dotted) and not self._there(each.dotted, each.star or each.whole):
                return f"line {each.node.lineno}: no {each.dotted}"
        return ""

    def _own(self, dotted: str) -> bool:
        return self.world.is_module(dotted.split(".")[0])

    def _there(self, dotted: str, whole: bool) -> bool:
        """Whether an import inside the package can work: a word in the text is enough, for speed."""
        module, rest = self.world.split(dotted)
        if not rest or module in self.world.compiled:
            return True
        file = self.world.files.get(module)
        if whole or len(rest) > 1 or file is None:
            return False
        text = self.tree.read(file)
        lazily = "import *" in text or "__getattr__" in text
        return lazily or re.search(rf"\b{re.escape(rest[0])}\b", text) is not None
