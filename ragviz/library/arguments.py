"""Arguments of the library's methods, made from the declared choices of an index and a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ragviz.core.fields import Field, fields_of

Made = TypeVar("Made")


def with_choices_of(record: type) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Give a method an argument for each choice of a configuration, with its explanation; None is as if not given."""
    fields = {name: field for name, field in fields_of(record).items() if field.group}

    def declare(method: Callable[..., Made]) -> Callable[..., Made]:
        @wraps(method)
        def called(*given: Any, **named: Any) -> Made:
            return method(*given, **{name: value for name, value in named.items() if value is not None})

        signature = inspect.signature(method)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        chosen = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=field.type)
            for name, field in fields.items()
        ]
        called.__dict__["__signature__"] = signature.replace(parameters=[*own, *chosen])
        words = "\n".join(f"    {name}: {_explained(field)}" for name, field in fields.items())
        called.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\nChoices:\n{words}\n"
        return called

    return declare


def _explained(field: Field) -> str:
    known = f" One of {', '.join(map(repr, field.known()))}." if field.known() else ""
    return f"{field.help or field.label + '.'}{known} Default: {field.unset or repr(field.default)}."
