"""ragviz shows where a RAG system loses answers, and whether a change really helped.

`ragviz.open()` gives a `Project`: add documents, build indexes, import or generate questions, run, compare. What it
offers is in `ragviz/library/`, which is loaded when the first of its names is used: `import ragviz` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragviz.core.errors import RagvizError
    from ragviz.library.project import Project, open  # noqa: A004
    from ragviz.library.project_results import Comparison, Documents, Index, QuestionSet, Run, check

__version__ = "0.1.0"
__all__ = ["Comparison", "Documents", "Index", "Project", "QuestionSet", "RagvizError", "Run", "check", "open"]

if not TYPE_CHECKING:  # else mypy would take any name for one of these
    _FILES = {
        "RagvizError": "ragviz.core.errors",
        "Project": "ragviz.library.project",
        "open": "ragviz.library.project",
    }

    def __getattr__(name: str) -> Any:
        """Load a name of `__all__` when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'ragviz' has no attribute '{name}'")
        return getattr(import_module(_FILES.get(name, "ragviz.library.project_results")), name)

    def __dir__() -> list[str]:
        """Return the public names, loaded or not."""
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
