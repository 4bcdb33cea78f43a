"""Modules are loaded when they are first used: `ragviz --help` and `ragviz.open()` need few of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

_AT_ONCE = ("cli", "core", "sample")
"""Folders that are small, and loaded when they are imported."""


class _Finder(MetaPathFinder):
    """Finds the modules of ragviz, to be loaded when an attribute of them is first read."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a module is, None for a folder, which holds no code, and for what is no library of ours."""
        root, _, rest = name.partition(".")
        if root != "ragviz" or rest.partition(".")[0] in _AT_ONCE:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None or spec.submodule_search_locations is not None:
            return None
        spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def loading_when_used() -> Iterator[None]:
    """Have what is imported meanwhile loaded when it is first used."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
