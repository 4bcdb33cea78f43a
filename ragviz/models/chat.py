"""The one client of models: any OpenAI-compatible endpoint, every answer paid for once.

Longer than other files: the methods of the client share its connection, its pace and what it counts.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr, ValidationError

from ragviz.errors import BudgetReached, Cancelled, ModelError
from ragviz.models import prices, replies, requests, schemas
from ragviz.models.pace import Gate, Pace
from ragviz.models.prices import Prices
from ragviz.models.replies import (
    LONGEST_RETRY_AFTER,
    MOST_TOKENS,
    MOST_WORDS,
    NEXT_STEP,
    ROOM_REFUSED,
    UNSUPPORTED,
    Cut,
    Malformed,
)
from ragviz.models.requests import (
    MODES,
    PROBE,
    Completion,
    Greeting,
    Message,
    Mode,
    Reply,
    Request,
    Result,
    Support,
    Usage,
)
from ragviz.models.spending import Spending
from ragviz.records import Cache, digest
from ragviz.stopping import Stopping, apart, awaited, current, follow
from ragviz.text.addresses import secrets_of
from ragviz.text.keys import without_keys
from ragviz.text.untrusted import storable

if TYPE_CHECKING:
    import openai


OPENAI = "https://api.openai.com/v1"

USELESS = 3
"""Replies to one call that cannot be used, until it is given up: each is paid."""

MOST_ROOM = 8
"""How many times its bound a reply may take, of a model whose replies were cut off."""

LONGEST_PAUSE = 8.0
"""Seconds: the cap of the exponential back-off."""
TOLD_AFTER = 2
"""Failures of one call, one after the other, that are nothing to talk about."""

UNBOUND = 4096
"""Tokens of a reply without a bound, as far as a budget is concerned."""
EMBED_BATCH = 64
"""Texts per embeddings call: small enough for every server that was met."""


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
        return prices.cost(self._prices, self.model, 0, 0) is not None

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Dollars for that many tokens, None when the model has no price."""
        return prices.cost(self._prices, self.model, prompt_tokens, completion_tokens)

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
        request = Request(asked, Greeting, max_tokens=1024, spending=spending)
        for mode in MODES:
            started = time.monotonic()
            try:
                response, _ = self._post(request.messages, request, mode)
                text = replies.text(response, whole=False)
                if mode != "text":
                    Greeting.model_validate_json(text)
                break
            except (ValidationError, Malformed) as error:  # it took the response_format and did not keep to it
                if mode == "text":
                    raise self._error(self.model, error) from None
            except openai.APIError as error:
                if mode == "text" or not replies.format_refused(error):
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
            with suppress(ModelError, openai.APIError, Malformed):
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
            schemas.of(request.reply) if request.reply else None,  # type: ignore[arg-type]  # a class is hashable
        ]
        edition = [str(request.edition)] if request.edition else []
        return digest("completion", self.base_url, self.model, json.dumps(asked, sort_keys=True), *edition, length=32)

    def _cached(self, key: str, request: Request[Reply]) -> Completion[Reply] | None:
        kept = self._cache.get_many([key]).get(key) if self._cache else None
        return None if kept is None else self._kept(kept, request)

    def _kept(self, kept: bytes, request: Request[Reply]) -> Completion[Reply] | None:
        text, *spent = json.loads(kept)
        try:
            return self._completion(text, replies.read(text, request), Usage(1, *spent), cached=True)
        except Malformed:
            return None  # the reply type or its check has become stricter

    def _pay(self, key: str, request: Request[Reply]) -> Completion[Reply]:
        spent, useless, room = Usage(), 0, self._room

        def attempt(complaint: str) -> tuple[str, Reply | None]:
            nonlocal spent, useless, room
            messages = self._in_other_words(request, request.number + useless, complaint)
            response, paid = self._send(messages, requests.roomier(request, room))
            spent += paid
            try:
                text = replies.text(response, whole=request.reply is not None)
                return text, replies.read(text, request)
            except Malformed as error:
                useless += 1
                room = min(MOST_ROOM, 2 * room) if isinstance(error, Cut) else room
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
        form = schemas.instruction(request.reply) if request.reply and self._mode == "json_schema" else ""
        return requests.noted(request.messages, f"Attempt {number + 1}. {why} {form}".rstrip())

    def _completion(self, text: str, parsed: Reply | None, spent: Usage, *, cached: bool) -> Completion[Reply]:
        counts = (spent.prompt_tokens, spent.completion_tokens)
        price = prices.cost(self._prices, self.model, *counts)
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
            except Malformed as error:
                trouble, complaint = error, str(error)
                useless += 1
                if useless == USELESS:
                    break
            except openai.APIError as error:
                trouble = error
                after = replies.retry_after(error)
                if number >= TOLD_AFTER:
                    self.trouble = f"Trying again: {self._error(model, error)}"
                if not replies.worth_retrying(error) or after > LONGEST_RETRY_AFTER:
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
                if mode == "text" or not replies.format_refused(error):
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
            if request.max_tokens and ROOM_REFUSED.search(str(error.message)) and error.code not in UNSUPPORTED:
                # The prompt and the bound together are more than the model reads: without one it takes what is left.
                return self._post(messages, replace(request, max_tokens=None), mode)
            refusable = {"temperature", "seed", "max_tokens"} - self._refused
            if error.code not in UNSUPPORTED or error.param not in refusable:
                raise
            self._refused.add(str(error.param))
            return self._post(messages, request, mode)
        except (ValueError, RecursionError):
            raise Malformed("a response that is not JSON") from None
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
            if isinstance(error.__cause__, Malformed):
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
            said[-1]["content"] += "\n\n" + schemas.instruction(request.reply)
        if request.reply and mode == "json_schema":
            schema = {"name": request.reply.__name__.strip("_"), "strict": True, "schema": schemas.of(request.reply)}  # type: ignore[arg-type]  # a class is hashable
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
                raise Malformed("a response without embeddings") from None
            lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
            if vectors.ndim != 2 or len(vectors) != len(said) or not np.all(np.isfinite(lengths) & (lengths > 0)):
                raise Malformed(f"vectors of shape {vectors.shape} for {len(said)} texts, or not finite")
            return np.asarray(vectors / lengths, dtype=np.float32)

        return self._persist(model, attempt)

    def _embeddings(self, model: str, texts: Sequence[str], spending: Spending | None) -> Any:
        """One HTTP call for embeddings: the response."""
        with _spent(spending, prices.cost(self._prices, model, _most_tokens(texts), 0) or 0.0) as cost_is:
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
                http = replies.bounded_client(self._timeout)
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
        prompt = replies.count(used, "prompt_tokens", 1000 + 4 * asked, asked // 4)
        most = 1000 + 2 * room if room else MOST_TOKENS
        counts = (prompt, replies.count(used, "completion_tokens", most, len(replies.said(response).encode()) // 4))
        price = prices.cost(self._prices, model, *counts) or 0.0
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
        if isinstance(trouble, Malformed):
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
        passing = status in (408, 502, 503, 504) or (status == 429 and replies.worth_retrying(trouble))
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


@contextmanager
def _spent(spending: Spending | None, most: float) -> Iterator[Callable[[float | None], None]]:
    """Hold `most` dollars while a call is out, as `Spending.call`; one that the server refused costs nothing."""
    import openai

    with (spending or Spending()).call(most) as cost_is:
        try:
            yield cost_is
        except openai.APIError as error:
            if replies.unpaid(error):
                cost_is(None)
            raise


def _most_tokens(texts: Sequence[str]) -> int:
    """More tokens than texts that are sent will have."""
    # Of no text that was met do the tokens outnumber half of its bytes; a server adds a few words of its own.
    return sum(len(text.encode()) for text in texts) // 2 + 16 * len(texts)
