"""The one place that opens sockets to models: any OpenAI-compatible endpoint, every answer paid for once.

A client keeps answers by content in the cache it is handed, retries what can be retried, bounds the calls in flight
and shrinks that bound when the server says 429. The key is in no error, repr or log. A reply is kept as it came, even
when it echoes the key: whoever shows one takes the key out (`keys.without_keys`).
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import astuple, dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, SecretStr, ValidationError

from ragviz.errors import BudgetReached, Cancelled, ModelError, UsageError
from ragviz.models import repair
from ragviz.models.spending import Spending
from ragviz.records import Cache, digest, storable
from ragviz.stopping import LOOK, Stopping, apart, awaited, current, follow
from ragviz.text.addresses import secrets_of
from ragviz.text.keys import without_keys

if TYPE_CHECKING:
    import openai

Reply = TypeVar("Reply", bound=BaseModel)
Result = TypeVar("Result")
Message = Mapping[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`"""
Prices = Mapping[str, tuple[float, float]]
"""Model name → dollars per million prompt tokens, and per million completion tokens."""
Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
"""How a typed reply is asked for, best first: by schema, as any JSON object, or in words only."""

PRICES: Prices = {"gpt-4o": (2.5, 10.0), "gpt-4o-mini": (0.15, 0.6)}
"""What two common models cost when this was written: to be looked up and changed on the settings page."""

OPENAI = "https://api.openai.com/v1"
RETRIED = frozenset({408, 409, 429})
"""Statuses below 500 that are worth another try."""
USELESS = 3
"""Replies to one call that cannot be used, until it is given up: each is paid."""
MOST_TOKENS = 200_000
"""Tokens of a reply without a bound: a server that tells more is not believed."""
MOST_BYTES, MOST_EMBEDDED_BYTES = 4 * 2**20, 64 * 2**20
"""Bytes of a response, and of one with embeddings: what is longer is not read on. A useful reply has a tenth."""
MOST_ROOM = 8
"""How many times its bound a reply may take, of a model whose replies were cut off."""
FADES = 0.99
"""Weight of a call in what is known of the pace, beside that of the next one: a few hundred calls count."""
MOST_WORDS = 20_000
"""Characters of a server's words that are looked through for the key."""
LONGEST_PAUSE = 8.0
"""Seconds: the cap of the exponential back-off."""
TOLD_AFTER = 2
"""Failures of one call, one after the other, that are nothing to talk about."""
LONGEST_RETRY_AFTER = 120.0
"""Seconds: a server that asks for more is given up for now."""
UNBOUND = 4096
"""Tokens of a reply without a bound, as far as a budget is concerned."""
EMBED_BATCH = 64
"""Texts per embeddings call: small enough for every server that was met."""

UNSUPPORTED = ("unsupported_parameter", "unsupported_value")
"""Codes of an HTTP 400 that is about one parameter, named in `param`, whatever its value."""
_ROOM_REFUSED = re.compile(
    r"max_(?:completion_)?tokens|(?:output|completion) tokens|context (?:length|window|size)", re.I
)
"""How servers word an HTTP 400 about a bound that is greater than the room left after the prompt."""
REDIRECT = "The server redirects, which is not followed with a prompt or a key: set OPENAI_BASE_URL to its new address."
NEXT_STEP = {
    **dict.fromkeys((301, 302, 303, 307, 308), REDIRECT),
    401: "The key was refused: set OPENAI_API_KEY to a valid one.",
    403: "The key may not use this: check its rights, or set RAGVIZ_MODEL to a model it may use.",
    404: "Check that RAGVIZ_MODEL names a model of that server and that OPENAI_BASE_URL ends as it should (often /v1).",
    429: "Too many requests or no quota left: lower RAGVIZ_MODEL_CONCURRENCY, or try again later.",
}


@dataclass(frozen=True, slots=True)
class Request(Generic[Reply]):
    """What is asked; two equal requests to one client get one answer. `reply` is the type the answer must fit.

    `check` tells what is wrong with a reply that has the right form, "" when nothing is: such a reply is asked again
    with that said, and never kept. Replies of one `edition` are not served to another: a model whose replies turned out
    to be worthless is asked the same words anew.

    `max_tokens` bounds the reply, and every request carries one: twice the tokens of the longest reply that would be
    accepted, its JSON included, so that what is useful is not cut and what runs on is stopped. A reply that was cut is
    asked again with more room; a whole one is the same under any bound, which is no part of its content key.

    Each call of it is written into `spending`, where there is one, before it is sent.

    `number` replies to it could not be used before: that is said, so that no model gets the same words twice. A reply
    is kept under the words of the request itself.
    """

    messages: Sequence[Message]
    reply: type[Reply] | None = None
    temperature: float = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    check: Callable[[Reply], str] | None = field(default=None, compare=False, repr=False)
    edition: int = 0
    number: int = field(default=0, compare=False, repr=False)
    spending: Spending | None = field(default=None, compare=False, repr=False)

    def once_more(self, number: int, why: str) -> Request[Reply]:
        """Ask for another reply than the one that came: in other words, for greedy decoding minds no seed."""
        return replace(self, messages=_noted(self.messages, f"Attempt {number + 1}. {why}"), seed=number)


@dataclass(frozen=True, slots=True)
class Completion(Generic[Reply]):
    """An answer. `parsed` is None when no reply type was asked for.

    Tokens (0 when the server does not tell) and `seconds` (in flight, without waits) include attempts thrown away;
    of a `cached` answer they are what was paid then. `cost` is in dollars, None when the model has no price. `useless`
    replies came before it.
    """

    text: str
    parsed: Reply | None
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cached: bool
    model: str
    cost: float | None
    useless: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What was paid; `cost` sums the calls whose model has a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Pace:
    """How long calls to a model last: seconds = a + b · tokens of the reply, fitted to its latest calls.

    Sums over the calls, each weighing `FADES` of the one after it: `n` calls, `x` tokens, `y` seconds.
    """

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def after(self, tokens: int, seconds: float) -> Pace:
        """With one more call."""
        more = (1.0, tokens, seconds, tokens * tokens, tokens * seconds)
        return Pace(*(FADES * old + new for old, new in zip(astuple(self), more, strict=True)))

    def seconds(self, calls: float, tokens: float) -> float:
        """How long so many calls last one after the other, their replies being of so many `tokens` in all.

        Neither part of a call takes less than no time; where all replies were alike, only the mean is known.

        >>> Pace().after(10, 1.0).after(110, 3.0).seconds(2, 120)
        4.0
        """
        spread = self.n * self.xx - self.x * self.x
        slope = (self.n * self.xy - self.x * self.y) / spread if spread > 1e-9 * self.xx * self.n else 0.0
        slope = min(max(0.0, slope), self.y / self.x if self.x else 0.0)
        return round(max(0.0, calls * (self.y - slope * self.x) / self.n + slope * tokens), 9)


@dataclass(frozen=True, slots=True)
class Support:
    """What an endpoint can do: `mode` of typed replies, seconds of a tiny call, parameters its model refuses."""

    model: str
    host: str
    mode: Mode
    seconds: float
    refused: tuple[str, ...]


class Gate:
    """Bounds calls in flight: the bound halves when the server is too busy, and grows back with every success."""

    def __init__(self, most: int) -> None:
        """Let at most `most` in."""
        self.most, self.limit, self.in_flight = most, float(most), 0
        self._opens = self._shrunk = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[float]:
        """Wait for a place and hold it; gives the time it was got, for `busy`."""
        with self._changed:
            while self.in_flight >= int(self.limit) or self._opens > time.monotonic():
                pause = self._opens - time.monotonic()
                self._changed.wait(min(LOOK, pause) if pause > 0 else LOOK)
                current().pause(0)
            self.in_flight += 1
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self.in_flight -= 1
                self._changed.notify(2)  # two: the bound may have grown by one

    def busy(self, sent: float, retry_after: float) -> None:
        """Let nobody in for `retry_after` seconds; halve the bound, once for all calls that were out together."""
        with self._changed:
            now = time.monotonic()
            self._opens = max(self._opens, now + retry_after)
            if sent >= self._shrunk:
                self.limit, self._shrunk = max(1.0, self.limit / 2), now

    def succeeded(self) -> None:
        """Widen the bound by about one place per round of successes."""
        with self._changed:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)


class _Malformed(Exception):
    """An answer that came but cannot be used; the message says how."""


class _Cut(_Malformed):
    """An answer that its bound cut off."""


class ModelClient:
    """Asks one chat model of one endpoint; safe to use from many threads."""

    def __init__(
        self,
        base_url: str | None,
        api_key: SecretStr | None,
        model: str,
        *,
        cache: Cache | None = None,
        paces: Cache | None = None,
        prices: Prices | None = None,
        concurrency: int = 8,
        timeout: float = 60.0,
        attempts: int = 8,
        backoff: float = 0.5,
    ) -> None:
        """Open nothing yet. `base_url` None is OpenAI's own; `timeout` and `backoff` (the first pause) in seconds.

        `cache` keeps replies, `paces` how long calls last.
        """
        self.base_url, self.model = (base_url or OPENAI).rstrip("/"), model
        self.concurrency, self.usage = concurrency, Usage()
        self.forms: set[Mode] = set()  # in which typed replies came
        self.trouble = ""  # why calls are tried again at the moment
        self._key = api_key
        self._paces, self._pace, self._timed = paces, Pace(), 0
        self._cache, self._prices, self._gate = cache, prices or {}, Gate(concurrency)
        self._timeout, self._attempts, self._backoff = timeout, attempts, backoff
        self._mode: Mode = MODES[0]
        self._refused: set[str] = set()
        self._room = 1  # how many times its bound a reply may take; more for a model that thinks aloud first
        self._asking: dict[str, Future[Completion[Any]]] = {}
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None

    def __repr__(self) -> str:
        """Name the model and the host only."""
        return f"ModelClient({self.model!r} at {self.host})"

    @property
    def host(self) -> str:
        """Host and port of the endpoint, without anything secret that an address can hold."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def priced(self) -> bool:
        """Whether it is known what the model costs."""
        return cost(self._prices, self.model, 0, 0) is not None

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Dollars for that many tokens, None when the model has no price."""
        return cost(self._prices, self.model, prompt_tokens, completion_tokens)

    def complete(
        self,
        messages: Sequence[Message],
        reply: type[Reply] | None = None,
        *,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> Completion[Reply]:
        """Answer `messages`; with `reply`, as a value of that type.

        Raises:
            ModelError: no usable answer after all attempts; names host, model, status and the next step.

        """
        return self.ask(Request(messages, reply, temperature, max_tokens, seed))

    def ask(self, request: Request[Reply]) -> Completion[Reply]:
        """`complete` for a request already put together; equal requests asked at the same time are paid once."""
        key = self._cache_key(request)
        with self._lock:
            first = key not in self._asking
            future: Future[Completion[Any]] = self._asking.setdefault(key, Future())
        if not first:
            try:
                return replace(awaited(future), cached=True)
            except Cancelled:
                current().pause(0)
                return self.ask(request)  # it was another who is to stop
        try:
            completion = self._cached(key, request) or self._pay(key, request)
            future.set_result(completion)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._asking[key]
        return completion

    def complete_many(
        self, requests: Iterable[Request[Reply]], ask: Callable[[Request[Reply]], Completion[Reply]] | None = None
    ) -> Iterator[Completion[Reply] | ModelError]:
        """Answers in the order of `requests`, asked concurrently a little ahead of what was taken.

        `ask` stands for `self.ask`, where something (a budget) is to be looked at before each call.

        What failed is given as its error, not raised. Closing the iterator waits for the calls in flight (their
        answers are kept in the cache) and asks no more.
        """
        waiting: deque[Future[Completion[Reply] | ModelError]] = deque()
        with self._pool() as pool:
            for request in requests:
                waiting.append(pool.submit(_or_error, ask or self.ask, request))
                if len(waiting) >= 2 * self.concurrency:
                    yield awaited(waiting.popleft())
            while waiting:
                yield awaited(waiting.popleft())

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Threads that begin nothing more when it is left, and drop what is in flight when that is to stop."""
        self.open()
        stopping = Stopping()
        with ThreadPoolExecutor(
            self.concurrency, thread_name_prefix="model", initializer=follow, initargs=(stopping,)
        ) as pool:
            try:
                yield pool
            except (Cancelled, KeyboardInterrupt):
                stopping.drop()
                raise
            finally:
                stopping.set()
                if current().is_set():
                    stopping.drop()
                pool.shutdown(cancel_futures=True)

    def cached(self, requests: Sequence[Request[Any]]) -> list[bool]:
        """Which of `requests` are paid for already; asks the model nothing."""
        keys = [self._cache_key(request) for request in requests]
        found = self._cache.get_many(keys) if self._cache else {}
        pairs = zip(keys, requests, strict=True)
        return [key in found and self._kept(found[key], request) is not None for key, request in pairs]

    def embed(
        self, model: str, texts: Sequence[str], spending: Spending | None = None
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Vectors of `texts` by the endpoint's embedding `model`, of unit length: places in `texts`, and their rows.

        Each call is written into `spending` before it is sent. Nothing is cached here, the embedder does that: so what
        came is given before an error is raised, for it was paid.

        Raises:
            ModelError: as `complete`, or vectors that cannot be used.
            BudgetReached: `spending` does not hold another call.

        """
        batches = [range(start, min(start + EMBED_BATCH, len(texts))) for start in range(0, len(texts), EMBED_BATCH)]
        with self._pool() as pool:
            asked = [pool.submit(self._embed_batch, model, [texts[n] for n in batch], spending) for batch in batches]
            given, failed = 0, None
            while given < len(batches) and failed is None:
                try:
                    vectors = awaited(asked[given])
                except (ModelError, BudgetReached) as error:
                    failed = error
                else:
                    yield list(batches[given]), vectors
                    given += 1
        for batch, future in list(zip(batches, asked, strict=True))[given:]:
            if not future.cancelled() and future.exception() is None:
                yield list(batch), future.result()
        if failed is not None:
            raise failed

    def test(self, spending: Spending | None = None) -> Support:
        """Ask something tiny, never from the cache, and find out how typed replies can be had.

        Raises:
            ModelError: the endpoint does not answer; says why.

        """
        import openai

        asked = [{"role": "user", "content": "Greet the reader in one word."}]
        request = Request(asked, _Greeting, max_tokens=1024, spending=spending)
        for mode in MODES:
            started = time.monotonic()
            try:
                response, _ = self._post(request.messages, request, mode)
                text = _text(response, whole=False)
                if mode != "text":
                    _Greeting.model_validate_json(text)
                break
            except (ValidationError, _Malformed) as error:  # it took the response_format and did not keep to it
                if mode == "text":
                    raise self._error(self.model, error) from None
            except openai.APIError as error:
                if mode == "text" or not _format_refused(error):
                    raise self._error(self.model, error) from None
        self._mode = mode
        seconds = time.monotonic() - started
        return Support(self.model, self.host, mode, seconds, tuple(sorted(self._refused)))

    def pace(self, *, probe: bool = False) -> Pace | None:
        """How long calls last, learnt from those that were made here before; with `probe` from two small ones, if none.

        None when nothing is known, and the endpoint does not answer.
        """
        import openai

        kept = self._kept_pace()
        if not kept.n and probe:
            self.open()  # importing is no part of a call
            with suppress(ModelError, openai.APIError, _Malformed):
                self.test()
                self._post(PROBE.messages, PROBE, "text")
            kept = self._kept_pace()
        return kept if kept.n else None

    def _kept_pace(self) -> Pace:
        if not self._pace.n and self._paces:
            held = self._paces.get_many([self._pace_key])
            self._pace = Pace(*json.loads(held[self._pace_key])) if held else self._pace
        return self._pace

    @property
    def _pace_key(self) -> str:
        return digest("pace", self.base_url, self.model, length=32)

    def _learn(self, paid: Usage) -> None:
        """Add a call to what is known of the pace; written down at every tenth, and at first at each."""
        self._kept_pace()
        with self._lock:
            self._pace, self._timed = self._pace.after(paid.completion_tokens, paid.seconds), self._timed + 1
            due = self._timed < 10 or self._timed % 10 == 0
        if due and self._paces:
            self._paces.put_many({self._pace_key: json.dumps(astuple(self._pace)).encode()})

    def _cache_key(self, request: Request[Any]) -> str:
        # The address is part of it: servers of one's own often call whatever they run by the same name.
        asked = [
            [dict(message) for message in request.messages],
            request.temperature,
            None if request.reply else request.max_tokens,
            request.seed,
            _schema(request.reply) if request.reply else None,  # type: ignore[arg-type]  # a class is hashable
        ]
        edition = [str(request.edition)] if request.edition else []
        return digest("completion", self.base_url, self.model, json.dumps(asked, sort_keys=True), *edition, length=32)

    def _cached(self, key: str, request: Request[Reply]) -> Completion[Reply] | None:
        kept = self._cache.get_many([key]).get(key) if self._cache else None
        return None if kept is None else self._kept(kept, request)

    def _kept(self, kept: bytes, request: Request[Reply]) -> Completion[Reply] | None:
        text, *spent = json.loads(kept)
        try:
            return self._completion(text, _read(text, request), Usage(1, *spent), cached=True)
        except _Malformed:
            return None  # the reply type or its check has become stricter

    def _pay(self, key: str, request: Request[Reply]) -> Completion[Reply]:
        spent, useless, room = Usage(), 0, self._room

        def attempt(complaint: str) -> tuple[str, Reply | None]:
            nonlocal spent, useless, room
            messages = self._in_other_words(request, request.number + useless, complaint)
            response, paid = self._send(messages, _roomier(request, room))
            spent += paid
            try:
                text = _text(response, whole=request.reply is not None)
                return text, _read(text, request)
            except _Malformed as error:
                useless += 1
                room = min(MOST_ROOM, 2 * room) if isinstance(error, _Cut) else room
                raise

        text, parsed = self._persist(self.model, attempt)
        self._room = max(self._room, room)
        if self._cache:
            kept = [text, spent.prompt_tokens, spent.completion_tokens, round(spent.seconds, 4)]
            self._cache.put_many({key: json.dumps(kept).encode()})
        return replace(self._completion(text, parsed, spent, cached=False), useless=useless)

    def _in_other_words(self, request: Request[Any], number: int, complaint: str) -> Sequence[Message]:
        """The messages of a request that was answered in vain `number` times, the last time so that `complaint`."""
        if not number:
            return request.messages
        why = f"The last reply cannot be used. That was {complaint}." if complaint else "Replies could not be used."
        form = _instruction(request.reply) if request.reply and self._mode == "json_schema" else ""
        return _noted(request.messages, f"Attempt {number + 1}. {why} {form}".rstrip())

    def _completion(self, text: str, parsed: Reply | None, spent: Usage, *, cached: bool) -> Completion[Reply]:
        counts = (spent.prompt_tokens, spent.completion_tokens)
        price = cost(self._prices, self.model, *counts)
        return Completion(text, parsed, *counts, spent.seconds, cached, self.model, price)

    def _persist(self, model: str, attempt: Callable[[str], Result]) -> Result:
        """Call `attempt` until it answers; it is told what was wrong with the last answer, "" when nothing was."""
        import openai

        complaint, useless = "", 0
        trouble: Exception = ModelError("no attempt was made")
        for number in range(self._attempts):
            if number:
                pause = min(LONGEST_PAUSE, self._backoff * 2 ** (number - 1))
                current().pause(pause * random.uniform(0.5, 1.0))  # noqa: S311 (spreads the retries; no secret)
            current().pause(0)  # nothing more is begun when the work is to stop
            try:
                with self._gate.slot() as sent:
                    result = attempt(complaint)
                self._gate.succeeded()
                self.trouble = ""
                return result
            except _Malformed as error:
                trouble, complaint = error, str(error)
                useless += 1
                if useless == USELESS:
                    break
            except openai.APIError as error:
                trouble = error
                after = _retry_after(error)
                if number >= TOLD_AFTER:
                    self.trouble = f"Trying again: {self._error(model, error)}"
                if not _worth_retrying(error) or after > LONGEST_RETRY_AFTER:
                    break
                if after or getattr(error, "status_code", 0) == 429:
                    self._gate.busy(sent, after)
        failed = self._error(model, trouble)
        failed.replies, failed.calls = useless, number + 1
        raise failed from None

    def _send(self, messages: Sequence[Message], request: Request[Any]) -> tuple[Any, Usage]:
        """One call in the best mode the endpoint takes; a worse mode that works is remembered."""
        import openai

        modes = MODES[MODES.index(self._mode) :] if request.reply else MODES[-1:]
        for mode in modes:
            try:
                answer = self._post(messages, request, mode)
            except openai.APIError as error:
                if mode == "text" or not _format_refused(error):
                    raise
            else:
                if request.reply:
                    self._mode = mode
                    self.forms.add(mode)
                return answer
        raise AssertionError("the last mode answers or raises")

    def _post(self, messages: Sequence[Message], request: Request[Any], mode: Mode) -> tuple[Any, Usage]:
        """One HTTP call: the response and what it took. Parameters that the model refuses are left out from then on."""
        import openai
        from openai.types.chat import ChatCompletion

        body = self._body(messages, request, mode)
        try:
            with self._spent(request, body) as cost_is:
                started = time.monotonic()
                # The client's own `create` first looks through every message for what to rename: that takes long.
                response: Any = self._called(
                    lambda: self._openai().post("/chat/completions", cast_to=ChatCompletion, body=body)
                )
                asked = len(json.dumps(body, ensure_ascii=False).encode())
                paid = self._account(self.model, response, started, asked, request.max_tokens)
                cost_is(paid.cost)
        except openai.BadRequestError as error:
            if request.max_tokens and _ROOM_REFUSED.search(str(error.message)) and error.code not in UNSUPPORTED:
                # The prompt and the bound together are more than the model reads: without one it takes what is left.
                return self._post(messages, replace(request, max_tokens=None), mode)
            refusable = {"temperature", "seed", "max_tokens"} - self._refused
            if error.code not in UNSUPPORTED or error.param not in refusable:
                raise
            self._refused.add(str(error.param))
            return self._post(messages, request, mode)
        except (ValueError, RecursionError):
            raise _Malformed("a response that is not JSON") from None
        self._learn(paid)
        return response, paid

    def _called(self, call: Callable[[], Result]) -> Result:
        """Do an HTTP call in all its parts within the time-out, whatever the server does.

        Raises:
            _Malformed: the response cannot be read.
            openai.APIError: as the call.
            Cancelled: this thread is to stop.

        """
        import openai

        try:
            return apart(call, self._timeout)
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, _Malformed):
                raise error.__cause__ from None
            if not isinstance(error.__cause__, TimeoutError):
                raise
            raise openai.APITimeoutError(request=error.request) from None
        except TimeoutError:
            raise openai.APITimeoutError(request=None) from None  # type: ignore[arg-type]  # nobody looks at it

    def _spent(
        self, request: Request[Any], body: Mapping[str, Any]
    ) -> AbstractContextManager[Callable[[float | None], None]]:
        """Have the most that a call may cost written down while it is out."""
        written = [message["content"] for message in body["messages"]] + [str(body.get("response_format", ""))]
        most = self.price(_most_tokens(written), request.max_tokens or UNBOUND) or 0.0
        return _spent(request.spending, most)

    def _body(self, messages: Sequence[Message], request: Request[Any], mode: Mode) -> dict[str, Any]:
        said = [{name: storable(text) for name, text in message.items()} for message in messages]
        body: dict[str, Any] = {"model": self.model, "messages": said}
        if request.reply and mode != "json_schema":
            said[-1]["content"] += "\n\n" + _instruction(request.reply)
        if request.reply and mode == "json_schema":
            schema = {"name": request.reply.__name__.strip("_"), "strict": True, "schema": _schema(request.reply)}  # type: ignore[arg-type]  # a class is hashable
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.reply and mode == "json_object":
            body["response_format"] = {"type": "json_object"}
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        optional = {"temperature": request.temperature, "seed": request.seed, limit: request.max_tokens}
        return body | {name: v for name, v in optional.items() if v is not None and name not in self._refused}

    def _embed_batch(self, model: str, texts: Sequence[str], spending: Spending | None) -> NDArray[np.float32]:
        said = [storable(text) for text in texts]

        def attempt(_: str) -> NDArray[np.float32]:
            try:
                response = self._embeddings(model, said, spending)
                rows = sorted(response.data, key=lambda row: row.index)
                vectors = np.array([row.embedding for row in rows], dtype=np.float32)
            except (ValueError, TypeError, AttributeError):
                raise _Malformed("a response without embeddings") from None
            lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
            if vectors.ndim != 2 or len(vectors) != len(said) or not np.all(np.isfinite(lengths) & (lengths > 0)):
                raise _Malformed(f"vectors of shape {vectors.shape} for {len(said)} texts, or not finite")
            return np.asarray(vectors / lengths, dtype=np.float32)

        return self._persist(model, attempt)

    def _embeddings(self, model: str, texts: Sequence[str], spending: Spending | None) -> Any:
        """One HTTP call for embeddings: the response."""
        with _spent(spending, cost(self._prices, model, _most_tokens(texts), 0) or 0.0) as cost_is:
            started = time.monotonic()
            response = self._called(
                lambda: self._openai().embeddings.create(model=model, input=list(texts), encoding_format="float")
            )
            cost_is(self._account(model, response, started, sum(len(text.encode()) for text in texts), None).cost)
            return response

    def _openai(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._client is None:
                # The client looks at httpx as soon as another thread begins to import it, half-made as it is then.
                with suppress(ImportError):
                    import httpx  # noqa: F401
                # A server without a key gets a stand-in, never the key that happens to be in the environment.
                key = self._key.get_secret_value() if self._key else "none"
                http = _bounded_client(self._timeout)
                self._client = openai.OpenAI(base_url=self.base_url, api_key=key, http_client=http, max_retries=0)
            return self._client

    def open(self) -> None:
        """Import what a call needs, in the thread that asks for it: two that import at once can trip each other."""
        import openai.types.chat  # noqa: F401

        _ = self._openai().embeddings  # imported when it is first looked at

    def _account(self, model: str, response: Any, started: float, asked: int, room: int | None) -> Usage:
        """Count what a call took that asked `asked` bytes for a reply of at most `room` tokens.

        Numbers beyond any reason are not believed: what went to and fro is counted instead.
        """
        used = getattr(response, "usage", None)
        prompt = _count(used, "prompt_tokens", 1000 + 4 * asked, asked // 4)
        most = 1000 + 2 * room if room else MOST_TOKENS
        counts = (prompt, _count(used, "completion_tokens", most, len(_said(response).encode()) // 4))
        price = cost(self._prices, model, *counts) or 0.0
        paid = Usage(1, *counts, time.monotonic() - started, price)
        with self._lock:
            self.usage += paid
        return paid

    def _error(self, model: str, trouble: Exception) -> ModelError:
        """Tell what went wrong where, and the next step, with the key taken out."""
        error = self._told(model, trouble)
        error.args = (self._scrubbed(str(error)),)
        return error

    def _told(self, model: str, trouble: Exception) -> ModelError:
        where = f"Model '{model}' at {self.host}"
        if isinstance(trouble, _Malformed):
            step = "Try again, or choose a model that follows instructions better."
            return ModelError(f"{where} gave {trouble}. {step}")
        status = getattr(trouble, "status_code", None)
        if status is None:
            slow = type(trouble).__name__ == "APITimeoutError"
            what = f"did not answer within {self._timeout:g} s" if slow else "cannot be reached"
            step = "Check OPENAI_BASE_URL and that the server runs" + (
                ", or raise RAGVIZ_MODEL_TIMEOUT." if slow else "."
            )
            return ModelError(f"{where} {what}. {step}", outage=True, passing=True)
        said = "" if status in (401, 403) else f" ({self._scrubbed(str(getattr(trouble, 'message', '')))[:300]})"
        step = NEXT_STEP.get(status, "Try again later." if status >= 500 else "Shorten or change what is asked.")
        passing = status in (408, 502, 503, 504) or (status == 429 and _worth_retrying(trouble))
        outage = passing or status in NEXT_STEP
        return ModelError(f"{where} answered HTTP {status}{said}. {step}", outage=outage, passing=passing)

    def _scrubbed(self, text: str) -> str:
        """Words without the key, on one line; of very many the first."""
        keys = [self._key.get_secret_value()] if self._key else []
        return " ".join(without_keys(text[:MOST_WORDS], [*keys, *secrets_of(self.base_url)]).split())


def _or_error(
    ask: Callable[[Request[Reply]], Completion[Reply]], request: Request[Reply]
) -> Completion[Reply] | ModelError:
    try:
        return ask(request)
    except ModelError as error:
        return error


class _Greeting(BaseModel):
    greeting: str


PROBE: Request[_Greeting] = Request(
    [{"role": "user", "content": "Write the numbers from one to sixty in words."}], max_tokens=128
)
"""Asked to learn how long a longer reply takes."""


def cost(prices: Prices, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Dollars for that many tokens; None when neither `model` nor a name it begins with has a price.

    >>> cost({"gpt": (1.0, 2.0), "gpt-mini": (0.5, 1.0)}, "gpt-mini-2024", 2_000_000, 1_000_000)
    2.0
    """
    names = [name for name in prices if model.startswith(name)]
    if not names:
        return None
    asked, answered = prices[max(names, key=len)]
    return (prompt_tokens * asked + completion_tokens * answered) / 1e6


@contextmanager
def _spent(spending: Spending | None, most: float) -> Iterator[Callable[[float | None], None]]:
    """Hold `most` dollars while a call is out, as `Spending.call`; one that the server refused costs nothing."""
    import openai

    with (spending or Spending()).call(most) as cost_is:
        try:
            yield cost_is
        except openai.APIError as error:
            if _unpaid(error):
                cost_is(None)
            raise


def _most_tokens(texts: Sequence[str]) -> int:
    """More tokens than texts that are sent will have."""
    # Of no text that was met do the tokens outnumber half of its bytes; a server adds a few words of its own.
    return sum(len(text.encode()) for text in texts) // 2 + 16 * len(texts)


def merged_prices(before: Prices, mine: Prices, now: Prices) -> Prices:
    """The prices `now` with what was changed from `before` to `mine`: added, another price, or taken out.

    >>> merged_prices({"a": (1.0, 1.0)}, {"b": (2.0, 2.0)}, {"a": (1.0, 1.0), "c": (3.0, 3.0)})
    {'c': (3.0, 3.0), 'b': (2.0, 2.0)}

    Raises:
        UsageError: somebody else changed one of the same to another price since `before`.

    """
    changed = {name for name in {*before, *mine} if before.get(name) != mine.get(name)}
    if both := sorted(name for name in changed if now.get(name) not in (before.get(name), mine.get(name))):
        raise UsageError(
            f"The price of {', '.join(both)} was changed by somebody else since it was shown: nothing was saved. "
            "Load the page again to see it, and enter yours then."
        )
    kept = {name: pair for name, pair in now.items() if name not in changed}
    return kept | {name: pair for name, pair in mine.items() if name in changed}


@lru_cache(maxsize=64)
def _schema(reply: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of a reply type, as strict structured output wants it: nothing optional, nothing additional."""
    schema: dict[str, Any] = _strict(reply.model_json_schema())
    return schema


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = ("title", "default", "properties", "maxLength")
    kept = {name: _strict(value) for name, value in schema.items() if name not in left_out}
    if "maxLength" in schema:  # strict structured output knows bounds of lists and numbers, but not of texts
        kept["description"] = f"{schema.get('description', '')} At most {schema['maxLength']} characters.".lstrip()
    if "properties" in schema:
        kept["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        kept |= {"required": list(schema["properties"]), "additionalProperties": False}
    return kept


def _noted(messages: Sequence[Message], note: str) -> list[Message]:
    """The messages with a note at the end of the last: many a model takes no two messages of a user in a row."""
    *before, last = messages
    return [*before, {**last, "content": f"{last['content']}\n\n{note}"}]


def _roomier(request: Request[Reply], room: int) -> Request[Reply]:
    return replace(request, max_tokens=room * request.max_tokens) if request.max_tokens else request


def _instruction(reply: type[BaseModel]) -> str:
    schema = json.dumps(_schema(reply), ensure_ascii=False)
    return f"Reply with nothing but a JSON object that fits this JSON schema:\n{schema}"


def _text(response: Any, *, whole: bool) -> str:
    """The text of a response's first choice; with `whole`, not one that was cut off.

    Raises:
        _Malformed: there is no such text.

    """
    try:
        choice = response.choices[0]
        text, finish = choice.message.content, choice.finish_reason
        calls = getattr(choice.message, "tool_calls", None)
    except (AttributeError, LookupError, TypeError):
        raise _Malformed("a response without choices") from None
    if whole and finish == "length":
        raise _Cut("an answer cut off at its token limit")
    if calls and not text:
        raise _Malformed("a call of a tool instead of an answer")
    if not isinstance(text, str) or not text.strip():
        raise _Malformed("an empty reply")
    return str(storable(text))


def _said(response: Any) -> str:
    """The text of a response as far as there is one."""
    try:
        text = response.choices[0].message.content
    except (AttributeError, LookupError, TypeError):
        return ""
    return str(storable(text)) if isinstance(text, str) else ""


def _count(used: Any, name: str, most: int, likely: int) -> int:
    """A number of tokens that a server told; 0 for what is none, and what is `likely` for more than `most`."""
    told = getattr(used, name, 0)
    if not isinstance(told, int) or told <= 0:
        return 0
    return told if told <= most else min(likely, most)


def _bounded_client(timeout: float) -> Any:
    """An HTTP client that follows no redirect, asks for nothing compressed, and reads no more than is of use."""
    import openai

    class Bounded(openai.DefaultHttpxClient):
        """Reads a whole response within a number of bytes and of seconds."""

        def send(self, request: Any, **more: Any) -> Any:
            ends = time.monotonic() + timeout
            most = MOST_EMBEDDED_BYTES if request.url.path.endswith("/embeddings") else MOST_BYTES
            request.headers["Accept-Encoding"] = "identity"
            response = super().send(request, **{**more, "stream": True})
            try:
                body = _received(response, most, ends)
            finally:
                response.close()
            headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _FRAMING]
            made = type(response)
            return made(response.status_code, headers=headers, content=body, request=response.request)

    # No redirect is followed: the prompt and the key go to the configured address only.
    return Bounded(timeout=timeout, follow_redirects=False)


_FRAMING = ("content-encoding", "content-length", "transfer-encoding")


def _received(response: Any, most: int, ends: float) -> bytes:
    """The body of a response, as it comes.

    Raises:
        _Malformed: it is longer than `most` bytes, or compressed so that it cannot be read.
        TimeoutError: it goes on after `ends`.

    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise _Malformed("a response that is compressed, which was not asked for")
    packed = zlib.decompressobj(47) if encoding.endswith(("gzip", "deflate")) else None  # 47: with either head
    body = bytearray()
    for part in response.iter_raw():
        try:
            body += packed.decompress(part, most + 1 - len(body)) if packed else part
        except zlib.error:
            raise _Malformed("a response whose compression is broken") from None
        if len(body) > most:
            raise _Malformed(f"a response of more than {most:,} bytes")
        if time.monotonic() > ends:
            raise TimeoutError
    return bytes(body)


def _read(text: str, request: Request[Reply]) -> Reply | None:
    """Read `text` as what was asked for, and check that."""
    parsed = _parse(text, request.reply)
    complaint = request.check(parsed) if request.check and parsed is not None else ""
    if complaint:
        raise _Malformed(complaint)
    return parsed


def _parse(text: str, reply: type[Reply] | None) -> Reply | None:
    """Read `text` as a `reply`, repairing what is nearly JSON; a reasoning model's thoughts are passed over."""
    if reply is None:
        return None
    body = re.sub(r"\A\s*<think>.*?</think>", "", text, flags=re.DOTALL)
    for whole in (body, body[body.find("{") : body.rfind("}") + 1]):  # what stands around an object is of no account
        try:
            parsed = reply.model_validate_json(whole)
        except ValidationError:
            continue
        _refuse_contradictions(whole)
        return parsed
    if any(body.count(opening) > body.count(closing) for opening, closing in ("{}", "[]")):
        raise _Malformed("a reply that ends in the middle of its JSON")  # repaired, it would be another reply
    try:
        return reply.model_validate(storable(repair.mended(body)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise _Malformed(f"a reply that is not the JSON asked for ({place}: {first['msg']})") from None
    except ValueError as error:
        raise _Malformed(f"a reply that is not JSON ({error})") from None


def _refuse_contradictions(text: str) -> None:
    """Refuse a reply that gives one field two values: which of them is meant is not known."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, value in pairs:
            if made.setdefault(name, value) != value:
                raise _Malformed(f"a reply that gives '{name[:40]}' two values")
        return made

    try:
        json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        raise _Malformed("a reply with numbers or a depth beyond reason") from None


def _worth_retrying(error: Any) -> bool:
    status = getattr(error, "status_code", None)
    if getattr(error, "code", None) == "insufficient_quota":
        return False
    return status is None or status in RETRIED or status >= 500


def _format_refused(error: openai.APIError) -> bool:
    """True when the endpoint may have refused the response_format: servers word it in too many ways to read it."""
    return getattr(error, "status_code", None) in (400, 422, 501)


def _unpaid(error: openai.APIError) -> bool:
    """Whether an error tells that the server did not do the work: it says so, or it could not even be reached."""
    return hasattr(error, "status_code") or type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def _retry_after(error: openai.APIError) -> float:
    """Seconds the server asks to wait, 0 when it does not say."""
    response = getattr(error, "response", None)
    value = response.headers.get("retry-after", "") if response is not None else ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
