"""Texts, conversations and passages in the values of a logged file, however they are written."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ragviz.documents.tables_in import structured
from ragviz.targets.logged_content import missing, number, plain
from ragviz.targets.logged_item import Passage
from ragviz.targets.logged_roles import ROLES

_ANY_TEXT = ("text", "content", "value", "raw", "message", "choices", "parts", "string")
_KEYS: Mapping[str, Sequence[str]] = {
    "question": (*ROLES["question"].names.split(), "querystr", "querybundle", *_ANY_TEXT),
    "answer": (*ROLES["answer"].names.split(), *_ANY_TEXT),
    "reference": (*ROLES["reference"].names.split(), *_ANY_TEXT),
}
"""Keys of objects whose value is the text of a role, the likeliest first."""
_ASKING, _ANSWERING = {"user", "human", "customer"}, {"assistant", "ai", "agent", "model", "bot", "chatbot", "gpt"}
_TEXTS = (
    *("text", "content", "pagecontent", "documentcontent", "contents", "passage", "chunk", "chunktext", "snippet"),
    "body",
)
_IDS = ("id", "docid", "documentid", "chunkid", "passageid", "nodeid", "contextid", "idx", "uuid")
_NAMES = ("document", "documentname", "docname", "source", "filename", "file", "filepath", "title", "url")
_SCORES = ("score", "documentscore", "similarity", "similarityscore", "relevancescore", "rerankscore")
_SAID_OF = {*_IDS, *_NAMES, *_SCORES, "rank"}
_WITHIN = ("node", "document", "payload", "chunk", "metadata", "documentmetadata", "meta")
"""Keys of a passage, as `plain` writes them, and of the objects in it that say more of it."""
_RETRIEVES = re.compile(r"retriev|vector.?search", re.IGNORECASE)


def text_in(value: Any, role: str) -> str:
    """Return the text of a value: of a conversation the last turn, of an object what it calls so, of a list the first.

    >>> text_in([{"role": "user", "content": "Why?"}], "question"), text_in('{"output": {"text": "So."}}', "answer")
    ('Why?', 'So.')
    """
    if missing(value):
        return ""
    if isinstance(value, str):
        inner = structured(value)
        return (text_in(inner, role) if not isinstance(inner, str) else "") or value
    if isinstance(value, dict):
        if role in ("question", "answer") and (turns := turns_in(value)):
            return turns[-1][role == "answer"]
        by_name = {plain(str(key)): each for key, each in value.items()}
        keys = _KEYS.get(role, _ANY_TEXT)
        texts = (text_in(by_name[key], role) for key in keys if key in by_name)
        return next((text for text in texts if text), "")
    if isinstance(value, list):
        if role in ("question", "answer") and (turns := turns_in(value)):
            return turns[-1][role == "answer"]
        return next((text for each in value if (text := text_in(each, role))), "")
    return str(value)


def whole_in(value: Any) -> str:
    """Return an answer that is an object of the system's own, as JSON; "" for any other, and for an error."""
    found = structured(value)
    own = isinstance(found, dict) and not {plain(str(key)) for key in found} & {*_KEYS["answer"], "error"}
    return json.dumps(found, ensure_ascii=False) if own and found else ""


def texts_in(value: Any) -> list[str]:
    """Return the texts of a reference: one, or those of a list."""
    found = structured(value)
    texts = [text_in(each, "reference") for each in (found if isinstance(found, list) else [value])]
    return [text for text in texts if text.strip()]


def turns_in(value: Any) -> list[tuple[str, str]]:
    """Return the turns of a conversation, question and answer, the oldest first; the last answer may be "".

    >>> turns_in([{"role": "user", "content": "A?"}, {"speaker": "agent", "text": "B."}, ["C?", "D."]])
    [('A?', 'B.'), ('C?', 'D.')]
    """
    found = structured(value)
    if isinstance(found, dict):
        inner = next((found[key] for key in ("messages", "turns", "history") if isinstance(found.get(key), list)), None)
        return turns_in(inner) if inner is not None else []
    turns: list[tuple[str, str]] = []
    for each in found if isinstance(found, list) else []:
        if isinstance(each, list | tuple) and len(each) == 2 and all(isinstance(said, str) for said in each):
            turns.append((each[0], each[1]))
            continue
        if not isinstance(each, dict):
            return []
        each = each["message"] if isinstance(each.get("message"), dict) else each
        each = {key.removeprefix("message."): value for key, value in each.items()}
        names = {plain(str(key)): said for key, said in each.items() if isinstance(said, str)}
        asked = next((names[key] for key in ("question", "query", "user", "human") if key in names), None)
        answer = next((names[key] for key in ("answer", "response", "assistant", "ai", "bot") if key in names), None)
        if asked is not None and answer is not None:
            turns.append((asked, answer))
            continue
        who = str(each.get("role") or each.get("speaker") or each.get("type") or each.get("from") or "").casefold()
        said = text_in(each, "message")
        if who in _ASKING:
            turns.append((said, ""))
        elif who in _ANSWERING and turns and said:
            turns[-1] = (turns[-1][0], said)
    return turns


def passages_in(value: Any, separator: str = "") -> list[Passage]:
    """Return the contexts of a value: texts, objects, an object by id, or what Python, Haystack or LlamaIndex print.

    A text with a `separator` is several. Of the steps of a trace, those are read that retrieve.
    """
    found = structured(value)
    if missing(found):
        return []
    if isinstance(found, str):
        if printed := _printed(found):
            return printed
        return [Passage(each.strip()) for each in (found.split(separator) if separator else [found]) if each.strip()]
    if isinstance(found, dict):
        return _in_object(found)
    return _in_list(found) if isinstance(found, list) else []


def _in_object(found: Mapping[str, Any]) -> list[Passage]:
    if (one := _passage(found)) is not None:
        return [one]
    names = {plain(str(key)): each for key, each in found.items()}
    listed = next((names[key] for key in ROLES["contexts"].names.split() if isinstance(names.get(key), list)), None)
    if listed is not None:
        return passages_in(listed)
    if {type(each) for each in found.values()} not in ({dict}, {str}):
        return [_as_json(found)]
    passages = []
    for key, each in found.items():
        if each.strip() if isinstance(each, str) else each:  # one without a text is its values, as the system read them
            passage = (_passage(each) or _as_json(each)) if isinstance(each, dict) else Passage(each)
            passages.append(replace(passage, id=passage.id or str(key)))
    return passages


def _as_json(found: Mapping[str, Any]) -> Passage:
    return Passage(json.dumps(found, ensure_ascii=False))


def _in_list(found: Sequence[Any]) -> list[Passage]:
    steps = [each for each in found if isinstance(each, dict) and _retrieved(each) is not None]
    if steps:
        return next((read for each in steps if (read := passages_in(_retrieved(each)))), [])
    passages: list[Passage] = []
    for each in found:
        if isinstance(each, str):
            passages += _printed(each) or ([Passage(each.strip())] if each.strip() else [])
        elif isinstance(each, list) and len(each) == 2 and isinstance(each[0], str) and number(each[1]) is not None:
            passages.append(Passage(each[0], score=number(each[1])))
        elif isinstance(each, dict | list) and not (isinstance(each, dict) and _is_step(each)):
            passages += passages_in(each)
    return passages


def _is_step(step: Mapping[str, Any]) -> bool:
    return bool(step.keys() & {"rets", "parentUuid", "parentObservationId", "traceId"})


def _retrieved(step: Mapping[str, Any]) -> Any:
    """Return what a step of a trace retrieved, None where it is none or does something else."""
    if not _is_step(step):
        return None
    stack = step.get("stack")
    called = stack[-1:] if isinstance(stack, list) else ""  # TruLens names the method innermost
    named = " ".join(str(each) for each in (step.get("type"), step.get("name"), called) if each)
    outputs = (step.get(key) for key in ("retrievalContext", "rets", "output", "documents"))
    return next((each for each in outputs if each), None) if _RETRIEVES.search(named) else None


def _passage(found: Mapping[str, Any]) -> Passage | None:
    """Return an object as a passage; None where no key is its text, or only an id is there."""
    names = _names_in(found)
    text, key, document, score = (
        next((names[key] for key in keys if names.get(key) not in ("", None)), "")
        for keys in (_TEXTS, _IDS, _NAMES, _SCORES)
    )
    if not str(text).strip() and (not key or names.keys() - _SAID_OF):
        return None
    return Passage(str(text), str(key), str(document), number(score))


def _names_in(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts and numbers of a passage by key; its own go before those of the objects in it."""
    names: dict[str, Any] = {}
    for key, value in found.items():
        name, inner = plain(str(key)), structured(value)
        if isinstance(inner, dict) and name in _WITHIN:
            names = _names_in(inner) | names
        elif isinstance(value, str | int | float):
            names[name] = value
    return names


_QUOTED = re.compile(r"\b(?:page_content|text|content)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.DOTALL)
_BY_NODE = re.compile(r"^Node ID:\s*(\S+)\s*\nText:\s*(.*?)(?:\nScore:\s*([-\d.]+|None)\s*)?$", re.DOTALL)
_HAYSTACK = re.compile(
    r"content: '(.*?)'(?=, (?:meta|score|dataframe|blob|embedding|sparse_embedding): |\)\s*[,\]]|\)?$)", re.DOTALL
)


def _printed(text: str) -> list[Passage]:
    if node := _BY_NODE.match(text.strip()):
        return [Passage(node[2].strip(), node[1], score=number(node[3]))]
    if not re.match(r"\[?\s*<?(?:Document|NodeWithScore|TextNode|ScoredPoint)\(", text.strip()):
        return []
    passages = []
    for part in re.split(r"(?:^|(?<=[\[\s,]))(?=<?(?:Document|NodeWithScore|ScoredPoint)\()", text):
        haystack, quoted = _HAYSTACK.search(part), _QUOTED.search(part)
        shown = haystack[1] if haystack else quoted[1][1:-1] if quoted else ""
        if quoted and not haystack:
            with suppress(ValueError, SyntaxError):
                shown = str(ast.literal_eval(quoted[1]))
        name, score = re.search(r"\bid_?=(?:')?([^',)\s]+)", part), re.search(r"\bscore[:=]\s*([-\d.]+)", part)
        if shown or name:
            passages.append(Passage(shown, name[1] if name else "", score=number(score[1]) if score else None))
    return passages
