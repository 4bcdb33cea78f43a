"""A function, or an object of a library, asked as a system: what it takes and returns is told from what it has."""

from __future__ import annotations

import asyncio
import inspect
import pkgutil
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ragviz.core.errors import RagvizError, UsageError
from ragviz.core.question import Question
from ragviz.core.stopping import awaited
from ragviz.targets.logged_content import plain
from ragviz.targets.logged_item import LoggedItem
from ragviz.targets.logged_roles import ROLES
from ragviz.targets.logged_values import passages_in, text_in
from ragviz.text.untrusted import storable

PARTS = (
    "answer", "response", "result", "output", "output_text", "replies", "answers", "text", "content", "page_content",
    "contexts", "context", "source_documents", "source_nodes", "retrieved_contexts", "documents", "sources", "messages",
    "node", "metadata", "meta", "document", "id", "id_", "node_id", "score", "role", "type",
)  # fmt: skip
"""Attributes of what a library returns that are read, where it has them: as a file's keys are."""
TOLD = ("seconds", "prompt_tokens", "completion_tokens", "cost", "abstained")
"""Numbers that a function may return beside its answer."""
INPUTS = ("question", "query", "input", "text", "prompt")
"""Names of the input that takes the question."""


class Called:
    """A function question → answer, (answer, contexts) or a dict; or an object with `query`, `invoke` or `run`."""

    def __init__(self, target: Any, label: str = "", concurrency: int = 1) -> None:
        """Find out how it is called.

        Raises:
            UsageError: it is neither a function nor such an object.

        """
        self.label = label or getattr(target, "__qualname__", type(target).__name__)
        module = getattr(target, "__module__", type(target).__module__)
        self.identity: Mapping[str, Any] = {"callable": f"{module}:{self.label}"}
        self.concurrency, self._call = concurrency, _how(target)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="asked", daemon=True).start()
        return loop

    def open(self) -> None:
        """Start what asking needs."""
        _ = self._loop

    def ask(self, question: Question) -> LoggedItem:
        """Call it with a question; what it raises becomes the error of the item."""
        item, started = LoggedItem(question.id, question.text, question.answer, None), time.monotonic()
        try:
            value = self._call(question)
            if inspect.isawaitable(value):
                value = awaited(asyncio.run_coroutine_threadsafe(asyncio.wait_for(value, None), self._loop))
            read = _read(item, value)
        except RagvizError:
            raise
        except Exception as error:  # of somebody else's function
            return replace(item, error=f"'{self.label}' raised {type(error).__name__}: {error}")
        return read if read.seconds is not None else replace(read, seconds=time.monotonic() - started)


def loaded(path: str) -> Any:
    """Return what `module:name` names, looked for in the current folder too.

    Raises:
        UsageError: it cannot be imported, or is not there.

    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"'{path}' cannot be called ({error}): write module:function, in this folder.") from error


def _how(target: Any) -> Callable[[Question], Any]:
    """Return how a target is called: LlamaIndex's by `query`, LangChain's by `invoke`, Haystack's by `run`."""
    for name in ("query", "ainvoke", "invoke"):
        if callable(method := getattr(target, name, None)):
            return lambda question: method(_input(target, question))
    if callable(run := getattr(target, "run", None)) and callable(getattr(target, "inputs", None)):
        return lambda question: _run_pipeline(target, question)
    if callable(run):
        return lambda question: run(question.text)
    if not callable(target):
        raise UsageError(
            f"A {type(target).__name__} cannot be asked: give a function of the question, or what has invoke, query "
            "or run."
        )
    try:
        with_history = "history" in inspect.signature(target).parameters
    except (TypeError, ValueError):  # of a builtin
        with_history = False
    return lambda q: target(q.text, history=q.history) if with_history else target(q.text)


def _input(target: Any, question: Question) -> Any:
    """Return what a chain takes: the question, in a dict where it says that it takes one."""
    keys: Sequence[str] = getattr(target, "input_keys", None) or ()
    if not keys and callable(described := getattr(target, "get_input_jsonschema", None)):
        schema = described()
        keys = [*schema.get("properties", {})] if schema.get("type") == "object" else ()
    if not keys:
        return question.text
    named = [name for name in INPUTS if name in keys][:1] or [keys[0], *INPUTS]  # a chain need not know its own input
    return dict.fromkeys(named, question.text)


def _run_pipeline(pipeline: Any, question: Question) -> Any:
    """Run a Haystack pipeline: each text that it must be given is the question; its documents are returned too."""
    inputs: Mapping[str, Mapping[str, Any]] = pipeline.inputs()
    data = {
        component: {
            name: question.text
            for name, about in sockets.items()
            if name in INPUTS and (about.get("type") is Any or "str" in str(about.get("type")))
        }
        for component, sockets in inputs.items()
    }
    outputs = pipeline.outputs(include_components_with_connected_outputs=True)
    retrieving = {name for name, sockets in outputs.items() if "documents" in sockets}
    found = pipeline.run({name: given for name, given in data.items() if given}, include_outputs_from=retrieving)
    merged: dict[str, Any] = {}
    for part in found.values():  # later components rank, or answer, last
        merged |= part
    return merged


def _read(item: LoggedItem, value: Any) -> LoggedItem:
    if callable(whole := getattr(value, "get_response", None)):  # a stream of LlamaIndex
        value = whole()
    if isinstance(value, LoggedItem):
        return replace(value, id=item.id, question=item.question, reference=item.reference)
    if isinstance(value, list):  # of a retriever
        return replace(item, contexts=tuple(passages_in(_as_json(value))))
    pair = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    said, read = map(_as_json, pair)
    told: dict[str, Any] = {}
    if isinstance(said, dict):
        named = {plain(name): each for name, each in said.items() if each}
        read = next((named[name] for name in ROLES["contexts"].names.split() if name in named), None)
        told = {name: said[name] for name in TOLD if isinstance(said.get(name), (int, float))}
    answer = text_in(said, "answer")
    if not answer.strip():
        parts = ", ".join(said) if isinstance(said, dict) else f"a {type(value).__name__}"
        raise TypeError(f"it returned {parts}, in which no text is an answer")
    return replace(item, answer=answer, contexts=tuple(passages_in(read)), **told)


def _as_json(value: Any) -> Any:
    """Return what was returned as JSON has it: objects by those of their `PARTS` that are no methods."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return storable(value)
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _as_json(each) for name, each in value.items()}
    if hasattr(value, "__float__"):  # of numpy
        return float(value)
    found = {name: getattr(value, name, None) for name in PARTS}
    # Texts of LangChain can be called.
    parts = {name: each for name, each in found.items() if isinstance(each, str) or not callable(each)}
    if isinstance(answer := getattr(value, "data", None), str):  # of Haystack
        parts["answer"] = answer
    return {name: _as_json(each) for name, each in parts.items() if each is not None} or str(value)
