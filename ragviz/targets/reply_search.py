"""JMESPath on what a server replied, within bounds: an expression of a line can make terabytes of a reply of a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jmespath
from jmespath.functions import Functions, signature
from jmespath.visitor import Options, TreeInterpreter

MOST_STEPS = 2_000_000
"""Steps of a search, the members of the lists that it makes among them."""
MOST_FOUND = 2**23
"""Values and characters of what is found at most: twice those of the longest reply."""


class TooMuch(Exception):
    """An expression takes too many steps, or makes too much of a reply."""


def search(expression: str, value: Any) -> Any:
    """Return what an expression finds, None for nothing; of `list[].part` one for each of the list, None for no part.

    JMESPath leaves out what has no such part, so that ids and scores would no longer be those of their texts.

    >>> search("a[].b", {"a": [{"b": 1}, {}]}), search("a[].b", {}), search("join('-', a[])", {"a": ["b", "c"]})
    ([1, None], None, 'b-c')

    Raises:
        TooMuch: it is out of bounds.

    """
    bounded = _Bounded()
    try:
        tree = jmespath.compile(expression).parsed
        if tree["type"] != "projection":
            return _fitting(bounded.visit(tree, value))
        listed, part = tree["children"]
        found = bounded.visit(listed, value)
        return _fitting([bounded.visit(part, each) for each in found]) if isinstance(found, list) else None
    except jmespath.exceptions.JMESPathError:  # a function of what is not there
        return None


def _fitting(value: Any) -> Any:
    """Return a value; TooMuch when it is too long, written out: it may hold one list many times."""
    left, waiting = MOST_FOUND, [value]
    while waiting:
        each = waiting.pop()
        members = each if isinstance(each, list) else [*each, *each.values()] if isinstance(each, dict) else ()
        left -= 1 + len(members) + (len(each) if isinstance(each, str) else 0)
        if left < 0:
            raise TooMuch
        waiting.extend(members)
    return value


class _Functions(Functions):  # type: ignore[misc]  # the library has no types
    @signature({"types": []})  # type: ignore[untyped-decorator]
    def _func_to_string(self, arg: Any) -> Any:
        return super()._func_to_string(_fitting(arg))

    @signature({"types": ["string"]}, {"types": ["array-string"]})  # type: ignore[untyped-decorator]
    def _func_join(self, separator: str, array: Sequence[str]) -> str:
        if len(separator) * len(array) + sum(map(len, array)) > MOST_FOUND:
            raise TooMuch
        return separator.join(array)


class _Bounded(TreeInterpreter):  # type: ignore[misc]  # the library has no types
    def __init__(self) -> None:
        super().__init__(Options(custom_functions=_Functions()))
        self._left = MOST_STEPS

    def visit(self, node: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        found = super().visit(node, *args, **kwargs)
        self._take(1 + (len(found) if isinstance(found, list) else 0))
        return found

    def visit_flatten(self, node: Mapping[str, Any], value: Any) -> Any:
        base = self.visit(node["children"][0], value)
        if isinstance(base, list):
            self._take(sum(len(each) for each in base if isinstance(each, list)))
        return super().visit_flatten({"children": [{"type": "literal", "value": base}]}, value)

    def _take(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooMuch
