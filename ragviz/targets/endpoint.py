"""A running system asked over HTTP: one question → a logged item, or the reason why there is none."""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import jmespath

from ragviz.core import addresses, certificates
from ragviz.core.endpoint_choices import MARK, Endpoint
from ragviz.core.errors import UsageError
from ragviz.core.fields import fields_of
from ragviz.core.question import Question
from ragviz.core.stopping import current, detached
from ragviz.models import refusals, transport
from ragviz.models.replies import Malformed
from ragviz.models.transport import Gate
from ragviz.targets import reply_search
from ragviz.targets.logged_content import number
from ragviz.targets.logged_item import LoggedItem, Passage
from ragviz.text.denial import abstains
from ragviz.text.untrusted import is_deep, parsed, storable, without_keys

BACKOFF, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before the first retry, which double with each, and their most."""
EXPRESSIONS = (
    "answer", "contexts", "ids", "scores", "documents", "prompt_tokens", "completion_tokens", "abstained",
)  # fmt: skip
"""Choices that are JMESPath."""
NEXT_STEP = {
    300: "Redirects are not followed with a question or a token: set --url to the new address.",
    400: "Check the body and the address of the target.",
    **dict.fromkeys((401, 403), "Give a header: 'Authorization: Bearer ${TARGET_TOKEN}'."),
    404: "Check the path of --url.",
    429: "Ask fewer at a time (--concurrency), or set --per-minute.",
    500: "See the server's log, then ask again.",
}
"""What to do about a status; 300 and 500 stand for all of their hundred, 400 for any other."""
SHORTEST_SECRET = 4
"""Characters of a variable's value from which on it is taken out of replies: a shorter one stands in any text."""
SHOWN_PARTS = 12
"""Parts of a reply that an error names."""

VARIABLES = "TARGET_"
"""How the variables begin that a target may send: who may change a target must not read others, as ragviz's own."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PLACES = frozenset({"question", "history", "id"})
_SECRET = re.compile(r"auth|key|token|secret|cookie|passw|credential|session", re.IGNORECASE)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NAMED = {
    "ids": re.compile(r"\w*id", re.IGNORECASE),
    "scores": re.compile(r"\w*(score|similarity)", re.IGNORECASE),
    "documents": re.compile(r"\w*(document|title|source|file|filename|name|url)\w*", re.IGNORECASE),
}
"""What the parts of a context are often called."""
_COUNTED = {
    "prompt_tokens": re.compile(r"(prompt|input)_?tokens?(_?count)?", re.IGNORECASE),
    "completion_tokens": re.compile(r"(completion|output)_?tokens?(_?count)?", re.IGNORECASE),
}
"""What numbers of tokens are often called."""


class _Failed(Exception):
    """A question got no answer: the sentence, whether asking again may help, and after how many seconds."""

    def __init__(self, sentence: str, *, again: bool = False, after: float = 0.0, reply: Any = None) -> None:
        super().__init__(sentence)
        self.again, self.after, self.reply = again, after, reply


@dataclass(frozen=True, slots=True)
class Tested:
    """A question that was asked for trial: the request without secrets, the reply, and what was read from it.

    `reply` is what its JSON holds (of a stream, the list of its events), or the text of what is no JSON; None where
    nothing came. The `error` of the item says what is wrong.
    """

    request: str
    reply: Any
    item: LoggedItem


def tried(endpoint: Endpoint, question: Question, ca_file: Path | None = None) -> Tested:
    """Ask a question once, without retries.

    Raises:
        UsageError: the endpoint's choices cannot be used, or a variable that it names is not set.

    """
    return Asker(replace(endpoint, retries=0), ca_file).tested(question)


def read_again(endpoint: Endpoint, tested: Tested, ca_file: Path | None = None) -> Tested:
    """Read the reply of a call for trial by other choices, without asking again; raises as `tried`."""
    if tested.reply is None or isinstance(tested.reply, str):
        return tested
    before, asker = tested.item, Asker(endpoint, ca_file)
    bare = LoggedItem(before.id, before.question, before.reference, None)
    try:
        return replace(tested, item=asker._read(bare, tested.reply, before.seconds or 0.0))
    except _Failed as error:
        return replace(tested, item=replace(bare, error=asker._shown(str(error))))


def check(endpoint: Endpoint) -> None:
    """Raise UsageError for an endpoint that cannot be asked, or that holds a secret in plain text."""
    name = f"Target '{endpoint.name}'"
    _check_address(endpoint.url, name)
    for header, value in endpoint.headers.items():
        if not _HEADER.fullmatch(header) or not value.isprintable() or not value.isascii():
            raise UsageError(f"{name} has a header that cannot be sent: write NAME: VALUE, printable, in ASCII.")
        if _SECRET.search(header) and not _VARIABLE.search(value):
            raise UsageError(
                f"The value of the header {header} would be stored: put it into a variable of the environment, and "
                f"write '{header}: ${{{VARIABLES}NAME}}', with Bearer before it where the server wants that."
            )
    if others := [each for each in _variables(endpoint) if not each.startswith(VARIABLES)]:
        raise UsageError(
            f"{name} names the variable {others[0]}: only those whose names begin with {VARIABLES} are sent. Set "
            f"{VARIABLES}{others[0]} where ragviz is started, and write ${{{VARIABLES}{others[0]}}}."
        )
    sent = endpoint.url if endpoint.method == "GET" else endpoint.url + json.dumps(_template(endpoint))
    places = set(_PLACE.findall(sent))
    if places - _PLACES or "question" not in places:
        wrong = f"{{{{{sorted(places - _PLACES)[0]}}}}} is no place" if places - _PLACES else "{{question}} is nowhere"
        raise UsageError(f"{name}: {wrong}; its body or address has {{{{question}}}}, {{{{history}}}}, {{{{id}}}}.")
    for choice in EXPRESSIONS:
        try:
            jmespath.compile(getattr(endpoint, choice) or ("" if choice == "answer" else "@"))
        except jmespath.exceptions.JMESPathError as error:
            words = " ".join(str(error).split())
            raise UsageError(f"{name}: --{choice.replace('_', '-')} is no JMESPath expression ({words}).") from None


def _variables(endpoint: Endpoint) -> list[str]:
    return _VARIABLE.findall(" ".join([endpoint.url, *endpoint.headers.values()]))


def _check_address(url: str, name: str) -> None:
    bare = _VARIABLE.sub("x", url)
    if not addresses.is_usable(bare) or addresses.is_ambiguous(url):
        raise UsageError(f"{name} has no address that can be asked: give --url http://HOST/PATH, or with https.")
    parts = urlsplit(bare)
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    plain = [parts.password or "", *(value for key, _, value in pairs if _SECRET.search(key))]
    if any(each not in ("", "x") for each in plain):
        raise UsageError(
            f"{name} has a secret in its address, which would be stored: write ${{{VARIABLES}NAME}} in its place."
        )


def _template(endpoint: Endpoint) -> Any:
    try:
        return parsed(endpoint.body)
    except ValueError as error:
        raise UsageError(
            f"The body of target '{endpoint.name}' is no JSON ({error}): places stand within quotes, as "
            '{"question": "{{question}}"}.'
        ) from None


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    r"""Return JSON with its places filled in; "{{history}}" alone is the list of messages, and goes up into a list.

    >>> filled({"q": "Q: {{question}}"}, {"question": 'a "b"\n', "history": [], "id": "1"})
    {'q': 'Q: a "b"\n'}
    >>> filled(["{{history}}", 1], {"history": [{"role": "user", "content": "Hi"}]})
    [{'role': 'user', 'content': 'Hi'}, 1]
    """
    if isinstance(template, dict):
        return {key: filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        parts = [(each, filled(each, values)) for each in template]
        return [one for each, made in parts for one in (made if _is_history(each) else [made])]
    if not isinstance(template, str):
        return template
    return values["history"] if _is_history(template) else _PLACE.sub(lambda m: _text(values[m[1]]), template)


def _is_history(template: Any) -> bool:
    return isinstance(template, str) and re.fullmatch(r"\{\{\s*history\s*\}\}", template) is not None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "\n".join(f"{turn['role']}: {turn['content']}" for turn in value)


class Asker:
    """Asks an endpoint; safe to use from many threads, which share its bounds.

    `identity` are the choices that are not the default and can change an answer; variables by their names.
    """

    def __init__(self, endpoint: Endpoint, ca_file: Path | None = None) -> None:
        """Check the endpoint, and read its variables from the environment.

        Raises:
            UsageError: it cannot be used, or a variable is not set.

        """
        check(endpoint)
        self.endpoint, self._ca_file = endpoint, ca_file
        self.label, self.concurrency = endpoint.name, endpoint.concurrency
        fields = fields_of(Endpoint)
        chosen = {name: getattr(endpoint, name) for name, each in fields.items() if each.in_fingerprint}
        self.identity: Mapping[str, Any] = {
            name: value for name, value in chosen.items() if value != fields[name].default
        }
        named = _variables(endpoint)
        self._variables = {name: os.environ.get(name, "") for name in named}
        if missing := [name for name, value in self._variables.items() if not value]:
            raise UsageError(
                f"Target '{endpoint.name}' needs the environment variable {missing[0]}, which is not set: set it where "
                "ragviz is started, or leave out the header that names it."
            )
        if any(not value.isprintable() or not value.isascii() for value in self._variables.values()):
            raise UsageError(
                f"A variable of target '{endpoint.name}' holds what no header can: see {', '.join(named)}."
            )
        self._secrets = list(self._variables.values())
        host = addresses.shown(endpoint.url.partition("?")[0]).partition("://")[2].partition("/")[0]
        self._where = f"Target '{endpoint.name}' at {host}"
        self._gate, self._lock, self._next = Gate(endpoint.concurrency), threading.Lock(), 0.0

    @cached_property
    def _client(self) -> Any:
        # No redirect is followed: the question and the headers go to the address that was given, as with models.
        limit, library = self.endpoint.timeout, transport.http_library()
        bounds, timeout = library.Limits(max_connections=None), library.Timeout(limit, connect=max(limit / 2, 0.1))
        return library.Client(
            timeout=timeout, limits=bounds, follow_redirects=False, verify=certificates.context(self._ca_file)
        )

    def open(self) -> None:
        """Load what a call needs, in the calling thread."""
        _ = self._client

    def ask(self, question: Question) -> LoggedItem:
        """Ask a question, again where that may help; the `error` of the item says why there is no answer."""
        return self.tested(question).item

    def tested(self, question: Question) -> Tested:
        """Ask a question as `ask`, and return request and reply too."""
        self.open()
        item, reply, trouble = LoggedItem(question.id, question.text, question.answer, None), None, ""
        for attempt in range(self.endpoint.retries + 1):
            if attempt:
                current().pause(min(LONGEST_PAUSE, BACKOFF * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0))  # noqa: S311
            current().pause(0)
            try:
                with self._gate.slot() as sent:
                    if self.endpoint.per_minute:
                        with self._lock:
                            begins = max(self._next, time.monotonic())
                            self._next = begins + 60 / self.endpoint.per_minute
                        current().pause(max(0.0, begins - time.monotonic()))
                    started = time.monotonic()
                    body = detached(lambda: self._posted(question), self.endpoint.timeout + 1)
                    seconds = time.monotonic() - started
                self._gate.succeeded()
                reply = self._values(body)
                return Tested(self.request(question), reply, self._read(item, reply, seconds))
            except _Failed as error:
                trouble, reply = str(error), error.reply if error.reply is not None else reply
                if not error.again or error.after > refusals.LONGEST_RETRY_AFTER:
                    break
                if error.after:
                    self._gate.busy(sent, error.after)
            except TimeoutError:
                trouble = str(self._late())
        return Tested(self.request(question), reply, replace(item, error=self._shown(trouble)))

    def request(self, question: Question) -> str:
        """Return the request for a question as it may be shown: variables by their names."""
        head = [f"{self.endpoint.method} {addresses.within(self._address(question, expanded=False))}"]
        head += [f"{name}: {value}" for name, value in self.endpoint.headers.items()]
        if self.endpoint.method != "GET":
            body = filled(_template(self.endpoint), self._filling(question))
            head += ["", json.dumps(body, ensure_ascii=False, indent=2)]
        return "\n".join(head)

    def _filling(self, question: Question) -> dict[str, Any]:
        turns = [pair for asked, said in question.history for pair in (("user", asked), ("assistant", said))]
        history = [{"role": role, "content": storable(text)} for role, text in turns]
        values = {"question": storable(question.text), "id": storable(question.id), "history": history}
        places = Counter(_PLACE.findall(self.endpoint.url + self.endpoint.body))
        if sum(number * len(_text(values[place])) for place, number in places.items()) > transport.MOST_BYTES:
            raise UsageError(
                f"A request to target '{self.endpoint.name}' would have more than {transport.MOST_BYTES:,} characters: "
                "let the question stand in its body once."
            )
        return values

    def _address(self, question: Question, *, expanded: bool) -> str:
        values = self._filling(question)
        address = _PLACE.sub(lambda match: quote(_text(values[match[1]]), safe=""), self.endpoint.url)
        return _VARIABLE.sub(lambda match: quote(self._variables[match[1]], safe=""), address) if expanded else address

    def _posted(self, question: Question) -> str:
        """Make one call; return the text of the reply, without the secrets that the server may echo."""
        endpoint, ends = self.endpoint, time.monotonic() + self.endpoint.timeout
        headers = {"Accept": "application/json, text/event-stream, application/x-ndjson", "Accept-Encoding": "identity"}
        headers[MARK] = "yes"
        body = None
        if endpoint.method != "GET":
            headers["Content-Type"] = "application/json"
            filled_in = filled(_template(endpoint), self._filling(question))
            body = json.dumps(filled_in, ensure_ascii=False).encode()
        given = {n: _VARIABLE.sub(lambda m: self._variables[m[1]], v) for n, v in endpoint.headers.items()}
        headers = {name: v for name, v in headers.items() if name.lower() not in map(str.lower, given)} | given
        address, library = self._address(question, expanded=True), transport.http_library()
        try:
            with self._client.stream(endpoint.method, address, headers=headers, content=body) as response:
                if addresses.is_of_machine(response.extensions["network_stream"].get_extra_info("server_addr")[0]):
                    raise _Failed("is at an address of this machine's own link, where clouds give out keys. Set --url.")
                data = transport.body_of(response, transport.MOST_BYTES, ends)
        except (TimeoutError, library.TimeoutException):
            raise self._late() from None
        except library.HTTPError as error:
            if wrong := certificates.trouble(str(error), "--url"):
                raise _Failed(f"{wrong[0]}. {wrong[1]}") from None
            told = f"cannot be reached, or broke off its reply ({error}). Check --url, and see the server's log."
            raise _Failed(told, again=True) from None
        except Malformed as error:
            raise _Failed(f"gave {error}. Choose what it sends.") from None
        text = without_keys(data.decode("utf-8-sig", "replace"), self._secrets, SHORTEST_SECRET)
        if not 200 <= response.status_code < 300:
            raise self._refused(response, text)
        return text

    def _late(self) -> _Failed:
        seconds = f"{self.endpoint.timeout:g} s"
        told = f"did not answer within {seconds}. Raise the time-out, or ask fewer at a time (--concurrency)."
        return _Failed(told, again=True)

    def _refused(self, response: Any, text: str) -> _Failed:
        """Return what a response that is no success says, in the server's own words, and the next step."""
        status, kind = response.status_code, refusals.what_is(text)
        words = _words(text)
        step = NEXT_STEP.get(status // 100 * 100 if status // 100 in (3, 5) else status, NEXT_STEP[400])
        if 300 <= status < 400:
            words = addresses.shown(response.headers.get("location", "").partition("?")[0])
        elif status in (401, 403) and self._variables:
            step = f"Check what {', '.join(self._variables)} holds."
        again = status in refusals.RETRIED or status >= 500
        told = f"HTTP {status}{' with a web page' if kind == refusals.PAGE else ''}{f' ({words})' if words else ''}"
        after = refusals.seconds_of(response.headers.get("retry-after", ""))
        return _Failed(f"answered {told}. {step}", again=again, after=after, reply=text)

    def _values(self, text: str) -> Any:
        """Return what the JSON of a reply holds, of a stream the list of its events."""
        if not text.strip():
            raise _Failed("answered with nothing. See the server's log.", again=True)
        kind, stream = refusals.what_is(text), self.endpoint.stream
        if kind == refusals.PAGE:
            step = "Set --url to the address of the API, and see that no login page or proxy answers in its place."
            raise _Failed(f"answered with a web page ({_words(text)}). {step}", reply=text)
        if stream == "none" and kind == refusals.STREAM:
            raise _Failed("answered with a stream of events: choose --stream events.", reply=text)
        pieces = [text] if stream == "none" else _events(text) if stream == "events" else text.splitlines()
        values = []
        for piece in pieces:
            try:
                values += [parsed(piece)] if piece.strip() and piece.strip() != "[DONE]" else []
            except ValueError:
                told = f"answered with what is no JSON, or with half of it ({' '.join(piece.split())[:80]!r})"
                raise _Failed(f"{told}. See the server's log, or choose --stream.", again=True, reply=text) from None
        if not values or is_deep(values):
            raise _Failed("answered with no JSON that can be read. See --stream.", reply=text)
        return values[0] if stream == "none" else values

    def _read(self, item: LoggedItem, reply: Any, seconds: float) -> LoggedItem:
        events = reply if self.endpoint.stream != "none" else [reply]
        answer = "".join(_worded(part) for part in self._found("answer", events))
        if not answer.strip():
            raise self._nothing(events, reply)
        contexts = self._listed("contexts", events)
        others = {name: self._listed(name, events) for name in ("ids", "scores", "documents")}
        contexts = contexts or [""] * len(others["ids"])
        for name, listed in others.items():
            if listed and len(listed) != len(contexts):
                told = f"--{name} finds {len(listed)}, --contexts {len(contexts)}"
                raise _Failed(f"answered, but {told}; each context needs one. Write both as sources[].…", reply=reply)
        if wrong := next((each for each in contexts if isinstance(each, dict)), None):
            told = f"--contexts finds objects with {', '.join(list(wrong)[:SHOWN_PARTS])}"
            raise _Failed(f"answered, but {told}: name the one with the text, as sources[].text.", reply=reply)
        of_each = [listed or [None] * len(contexts) for listed in others.values()]
        rows = zip(map(_worded, contexts), *of_each, strict=True)
        passages = [
            Passage(text, _worded(i), _worded(document), number(score))
            for text, i, score, document in rows
            if text or i is not None
        ]
        tokens = [number([None, *self._found(name, events)][-1]) for name in ("prompt_tokens", "completion_tokens")]
        phrase = " ".join(self.endpoint.abstains.casefold().split())
        abstained = bool(phrase and phrase in " ".join(answer.casefold().split())) or any(
            self._found("abstained", events)
        )
        return replace(
            item,
            answer=answer,
            contexts=tuple(passages),
            seconds=seconds,
            prompt_tokens=None if tokens[0] is None else int(tokens[0]),
            completion_tokens=None if tokens[1] is None else int(tokens[1]),
            abstained=abstained or abstains(answer),
        )

    def _found(self, choice: str, events: Sequence[Any]) -> list[Any]:
        """Return what an expression finds in each event, where it finds something."""
        expression = getattr(self.endpoint, choice)
        try:
            values = [reply_search.search(expression, event) for event in events] if expression else []
        except reply_search.TooMuch:
            told = f"answered, but --{choice.replace('_', '-')} makes more of its reply than a reply may have"
            raise _Failed(f"{told}: name the part itself.", reply=events) from None
        return [value for value in values if value is not None]

    def _listed(self, choice: str, events: Sequence[Any]) -> list[Any]:
        found = [value for value in self._found(choice, events) if value != []]
        if not found:
            return []
        return found[-1] if isinstance(found[-1], list) else [found[-1]]

    def _nothing(self, events: Sequence[Any], reply: Any) -> _Failed:
        """Return why a reply has no answer: an error in it, an empty text, or an expression that finds nothing."""
        if self._found("answer", events):
            return _Failed("answered with an empty text. See the server's log.", reply=reply)
        error = next((e for e in events if isinstance(e, dict) and (e.get("error") or e.get("event") == "error")), None)
        if error is not None:
            words = _words(json.dumps(error, ensure_ascii=False))
            return _Failed(f"answered with an error ({words}). See the server's log.", reply=reply)
        last = events[-1]
        parts = ", ".join(map(str, list(last)[:SHOWN_PARTS])) if isinstance(last, dict) else type(last).__name__
        told = f"--answer {self.endpoint.answer!r} finds nothing in its reply, which has {parts or 'no parts'}"
        return _Failed(f"answered, but {told}: name the part with the answer.", reply=reply)

    def _shown(self, text: str) -> str:
        """Return what failed, and of which target, without secrets and on one line."""
        secrets = [*self._secrets, *addresses.secrets_of(self._where)]
        return " ".join(without_keys(f"{self._where} {text}", secrets, SHORTEST_SECRET).split())


def _words(text: str) -> str:
    return " ".join(refusals.words(text).split())[: refusals.SHOWN]


def parts_of(reply: Any) -> dict[str, Any]:
    """Return the parts of a reply that are no objects or lists, by their JMESPath; of a list's items the first.

    >>> parts_of({"a": "Yes.", "hits": [{"my text": "t", "n": 1}, {"n": 2}], "ids": ["x"]})
    {'a': 'Yes.', 'hits[]."my text"': 't', 'hits[].n': 1, 'ids': 'x'}
    """
    parts: dict[str, Any] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                name = key if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", key) else json.dumps(key)
                walk(f"{path}.{name}" if path else name, each)
        elif isinstance(value, list):
            for each in value:
                walk(f"{path}[]" if isinstance(each, (dict, list)) else path, each)
        elif path:
            parts.setdefault(path, value)

    walk("", reply)
    return parts


def guessed(parts: Mapping[str, Any]) -> dict[str, str]:
    """Return what the `parts_of` a reply may be: the longest text, the longest in a list, others by their names.

    >>> guessed({"out.text": "It is 3.", "n": 2, "hits[].id": "d", "hits[].body": "A passage.", "hits[].score": 0.1})
    {'answer': 'out.text', 'contexts': 'hits[].body', 'ids': 'hits[].id', 'scores': 'hits[].score'}
    >>> guessed({"answer": "Yes.", "usage.input_tokens": 3})
    {'answer': 'answer', 'prompt_tokens': 'usage.input_tokens'}
    """
    texts = {path: value for path, value in parts.items() if isinstance(value, str) and value}
    single = {path: value for path, value in texts.items() if "[]" not in path}
    found = {"answer": max(single, key=lambda path: len(single[path]), default="")}
    listed = {path: value for path, value in texts.items() if "[]" in path}
    found["contexts"] = max(listed, key=lambda path: len(listed[path]), default="")
    beside = [
        path for path in parts if path != found["contexts"] and path.startswith(found["contexts"].partition("[]")[0])
    ]
    for choice, named in _NAMED.items():
        found[choice] = next((p for p in beside if "[]" in p and named.fullmatch(p.rpartition(".")[2])), "")
    for choice, named in _COUNTED.items():
        found[choice] = next((path for path in parts if named.fullmatch(path.rpartition(".")[2])), "")
    return {choice: path for choice, path in found.items() if path}


def _events(text: str) -> list[str]:
    r"""Return the data of server-sent events, the lines of one joined.

    >>> _events('event: a\ndata: {"x":\ndata: 1}\n\n: ping\n\ndata:[DONE]\n\n')
    ['{"x":\n1}', '[DONE]']
    """
    blocks = re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n"))
    data = ("\n".join(m[1] for m in re.finditer(r"^data: ?(.*)$", block, re.MULTILINE)) for block in blocks)
    return [each for each in data if each]


def _worded(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = "".join(value)
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return str(storable(text))


def of_choices(name: str, choices: Mapping[str, Any]) -> Endpoint:
    """Return a checked endpoint; headers without a value are left out.

    Raises:
        UsageError: there is no such choice, or one cannot be used.

    """
    fields = fields_of(Endpoint)
    if unknown := sorted(choices.keys() - fields.keys()):
        raise UsageError(f"{', '.join(unknown)} is no choice of a target: there are {', '.join(fields)}.")
    values = {key: fields[key].checked(value) for key, value in choices.items()}
    headers = {key: value for key, value in values.get("headers", {}).items() if value}
    made = Endpoint(name, **{**values, "headers": headers})
    check(made)
    return made
