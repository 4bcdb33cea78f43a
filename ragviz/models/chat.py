"""The client of chat and embedding models: any OpenAI-compatible endpoint, every answer paid for once.

Longer than 500 lines: the client's methods share its connection, its pace and its counters.
"""

from __future__ import annotations

import json
import random
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr, ValidationError

from ragviz.core.addresses import secrets_of
from ragviz.core.call import Paid
from ragviz.core.digests import digest
from ragviz.core.errors import BudgetReached, Cancelled, ModelError
from ragviz.core.reply_cache import Cache
from ragviz.core.stopping import Stopping, awaited, current, follow
from ragviz.models import refusals, replies, requests, transport
from ragviz.models.refusals import LONGEST_RETRY_AFTER, MOST_WORDS
from ragviz.models.replies import MOST_TOKENS, Cut, Malformed
from ragviz.models.requests import MODES, Completion, Message, Mode, Prices, Reply, Request, Spending, Usage, cost
from ragviz.models.transport import Gate, Pace
from ragviz.models.vectors import decoded, of_unit_length
from ragviz.text.untrusted import storable, without_keys

if TYPE_CHECKING:
    import openai


OPENAI = "https://api.openai.com/v1"

USELESS = 3
"""Unusable replies to one call, each of them paid, after which it fails."""

MOST_ROOM = 8
"""Factor by which the bound of replies may grow, for a model whose replies were cut off."""

LONGEST_PAUSE = 8.0
"""Seconds: the cap of the exponential back-off."""
REPORTED_AFTER = 2
"""Consecutive failures of one call that are not reported."""

UNBOUND = 4096
"""Tokens that a budget assumes for a reply without a bound."""
EMBED_BATCH = 64
"""Texts per embeddings call, unless a server takes fewer."""
TOO_MUCH = (400, 413, 422, 500)
"""Statuses with which servers refuse a call of too many texts, or a text that is too long."""


class ModelClient:
    """Calls one chat model of one endpoint; safe to use from many threads."""

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
        ca_file: Path | None = None,
        attempts: int = 8,
        backoff: float = 0.5,
    ) -> None:
        """Open nothing yet. `base_url` None is OpenAI's; `timeout` and `backoff` (the first pause) are in seconds.

        `cache` stores replies, `paces` how long calls last. Certificates in `ca_file` are trusted beside the system's.
        """
        self.base_url, self.model = (base_url or OPENAI).rstrip("/"), model
        self.concurrency, self.usage = concurrency, Usage()
        self.forms: set[Mode] = set()  # modes in which typed replies came
        self.trouble = ""  # why calls are being retried, "" when none is
        self._key = api_key
        self._paces, self._pace, self._timed = paces, Pace(), 0
        self._cache, self._prices, self._gate = cache, prices or {}, Gate(concurrency)
        self._timeout, self._attempts, self._backoff, self._ca_file = timeout, attempts, backoff, ca_file
        self._mode: Mode = MODES[0]
        self._refused: set[str] = set()
        self._batches: dict[str, int] = {}  # texts per embeddings call that a model takes
        self._encoding = ""  # of vectors: "base64" or "float", as the server sends them; "" before the first
        self._room = 1  # factor of the bound of replies; grows for a model that thinks aloud first
        self._asking: dict[str, Future[Completion[Any]]] = {}
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None

    def __repr__(self) -> str:
        """Name the model and the host only."""
        return f"ModelClient({self.model!r} at {self.host})"

    @property
    def host(self) -> str:
        """Host and port of the endpoint, without the secrets that an address can hold."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def priced(self) -> bool:
        """Whether the model has a price."""
        return cost(self._prices, self.model, 0, 0) is not None

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return the dollars for that many tokens, None when the model has no price."""
        return cost(self._prices, self.model, prompt_tokens, completion_tokens)

    def ask(self, request: Request[Reply]) -> Completion[Reply]:
        """Answer a request, with a reply of its type; equal requests at the same time are paid once.

        Raises:
            ModelError: no usable answer after all attempts; names host, model, status and the next step.

        """
        key = self._cache_key(request)
        with self._lock:
            first = key not in self._asking
            future: Future[Completion[Any]] = self._asking.setdefault(key, Future())
        if not first:
            try:
                return replace(awaited(future), cached=True)
            except Cancelled:
                current().pause(0)
                return self.ask(request)  # the other thread was stopped, not this one
        try:
            entry = self._cache.get_many([key]).get(key) if self._cache else None
            completion = (self._restored(entry, request) if entry else None) or self._pay(key, request)
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
        """Yield answers in the order of `requests`, calling concurrently a little ahead of the consumer.

        `ask` replaces `self.ask`, to check something (a budget) before each call.

        A failure is yielded as its error, not raised. Closing the iterator waits for the calls in flight (their
        answers are cached) and sends no more.
        """

        def answered(request: Request[Reply]) -> Completion[Reply] | ModelError:
            try:
                return (ask or self.ask)(request)
            except ModelError as error:
                return error

        waiting: deque[Future[Completion[Reply] | ModelError]] = deque()
        with self._pool() as pool:
            for request in requests:
                waiting.append(pool.submit(answered, request))
                if len(waiting) >= 2 * self.concurrency:
                    yield awaited(waiting.popleft())
            while waiting:
                yield awaited(waiting.popleft())

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Yield a pool whose threads begin no more calls once it is left, and drop those in flight on a stop."""
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
        """Return for each of `requests` whether it is paid for already; makes no call."""
        keys = [self._cache_key(request) for request in requests]
        entries = self._cache.get_many(keys) if self._cache else {}
        pairs = zip(keys, requests, strict=True)
        return [key in entries and self._restored(entries[key], request) is not None for key, request in pairs]

    def embed(
        self, model: str, texts: Sequence[str], spending: Spending | None = None
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield vectors of `texts` by the endpoint's embedding `model`, of unit length: positions, and their rows.

        Each call is recorded in `spending` before it is sent. The embedder caches them, not this client: so vectors
        that arrived are yielded before an error is raised, for they were paid. A call that is refused is divided in
        half, and later ones are no larger than those that were taken.

        Raises:
            ModelError: as `ask`, or vectors that cannot be used.
            BudgetReached: the budget of `spending` does not cover another call.

        """
        size = self._batches.get(model, EMBED_BATCH)
        batches = [range(start, min(start + size, len(texts))) for start in range(0, len(texts), size)]
        with self._pool() as pool:
            futures = [
                pool.submit(self._embed_halving, model, [texts[n] for n in batch], spending) for batch in batches
            ]
            done, failure = 0, None
            while done < len(batches) and failure is None:
                try:
                    vectors = awaited(futures[done])
                except (ModelError, BudgetReached) as error:
                    failure = error
                    if isinstance(error, ModelError) and error.place is not None:
                        error.place += batches[done].start
                else:
                    yield list(batches[done]), vectors
                    done += 1
        for batch, future in list(zip(batches, futures, strict=True))[done:]:
            if not future.cancelled() and future.exception() is None:
                yield list(batch), future.result()
        if failure is not None:
            raise failure

    def test(self, spending: Spending | None = None) -> requests.Support:
        """Make a small call in the form of real ones, never from the cache; find out in which mode typed replies come.

        Raises:
            ModelError: the endpoint does not answer, or not with what was asked for in any mode; says why.

        """
        import openai

        request = replace(requests.SAMPLE, spending=spending)
        for mode in MODES:
            started = time.monotonic()
            try:
                response, _ = self._post(request.messages, request, mode)
                text = replies.text(response, whole=True)
                if mode == "text":
                    replies.read(text, request)
                else:
                    requests.Greetings.model_validate_json(text)
                break
            except (ValidationError, Malformed) as error:  # it accepted the response_format and ignored it
                if mode == "text":
                    raise self._error(self.model, Malformed(str(error))) from None
            except openai.APIError as error:
                if mode == "text" or not refusals.format_refused(error):
                    raise self._error(self.model, error) from None
        self._mode = mode
        seconds = time.monotonic() - started
        return requests.Support(self.model, self.host, mode, seconds, tuple(sorted(self._refused)))

    def pace(self, *, probe: bool = False) -> Pace | None:
        """Return how long calls last, learnt from earlier ones; with `probe` from two small ones when there are none.

        None when nothing is known, or the endpoint does not answer.
        """
        import openai

        pace = self._known_pace()
        if not pace.n and probe:
            self.open()  # so that imports are no part of a call's time
            with suppress(ModelError, openai.APIError, Malformed):
                self.test()
                self._post(requests.PROBE.messages, requests.PROBE, "text")
            pace = self._known_pace()
        return pace if pace.n else None

    def _known_pace(self) -> Pace:
        if not self._pace.n and self._paces:
            stored = self._paces.get_many([self._pace_key])
            self._pace = Pace(*json.loads(stored[self._pace_key])) if stored else self._pace
        return self._pace

    @property
    def _pace_key(self) -> str:
        return digest("pace", self.base_url, self.model, length=32)

    def _learn(self, paid: Usage) -> None:
        """Add a call to the pace; stored after every tenth call, and at first after each."""
        self._known_pace()
        with self._lock:
            self._pace, self._timed = self._pace.after(paid.completion_tokens, paid.seconds), self._timed + 1
            due = self._timed < 10 or self._timed % 10 == 0
        if due and self._paces:
            self._paces.put_many({self._pace_key: json.dumps(astuple(self._pace)).encode()})

    def _cache_key(self, request: Request[Any]) -> str:
        # The address is part of it: private servers often give any model the same name.
        content = [
            [dict(message) for message in request.messages],
            request.temperature,
            None if request.reply else request.max_tokens,
            request.seed,
            replies.of(request.reply) if request.reply else None,  # type: ignore[arg-type]  # a class is hashable
        ]
        edition = [str(request.edition)] if request.edition else []
        return digest("completion", self.base_url, self.model, json.dumps(content, sort_keys=True), *edition, length=32)

    def _restored(self, entry: bytes, request: Request[Reply]) -> Completion[Reply] | None:
        text, *spent = json.loads(zlib.decompress(entry))
        try:
            return self._completion(text, replies.read(text, request), Usage(1, *spent), cached=True)
        except Malformed:
            return None  # the reply type or its check has become stricter

    def _pay(self, key: str, request: Request[Reply]) -> Completion[Reply]:
        spent, useless, room = Usage(), 0, self._room

        def attempt(complaint: str) -> tuple[str, Reply | None]:
            nonlocal spent, useless, room
            messages = self._in_other_words(request, request.number + useless, complaint)
            bound = request.max_tokens * room if request.max_tokens else None
            response, paid = self._send(messages, replace(request, max_tokens=bound))
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
            entry = [text, spent.prompt_tokens, spent.completion_tokens, round(spent.seconds, 4), spent.estimated]
            self._cache.put_many({key: zlib.compress(json.dumps(entry).encode())})
        return replace(self._completion(text, parsed, spent, cached=False), useless=useless)

    def _in_other_words(self, request: Request[Any], number: int, complaint: str) -> Sequence[Message]:
        """Return a request's messages after `number` useless replies; `complaint` is about the last of them."""
        if not number:
            return request.messages
        why = f"The last reply cannot be used. That was {complaint}." if complaint else "Replies could not be used."
        form = replies.instruction(request.reply) if request.reply and self._mode == "json_schema" else ""
        return requests.noted(request.messages, f"Attempt {number + 1}. {why} {form}".rstrip())

    def _completion(self, text: str, parsed: Reply | None, spent: Usage, *, cached: bool) -> Completion[Reply]:
        counts = (spent.prompt_tokens, spent.completion_tokens)
        price = cost(self._prices, self.model, *counts)
        return Completion(
            text, parsed, *counts, spent.seconds, cached, self.model, price, estimated=bool(spent.estimated)
        )

    def _persist(self, model: str, attempt: Callable[[str], requests.Result]) -> requests.Result:
        """Call `attempt` until it succeeds; its argument is what was wrong with the last reply, "" for nothing."""
        import openai

        complaint, useless = "", 0
        trouble: openai.APIError | Malformed = Malformed("no answer")
        for number in range(self._attempts):
            if number:
                pause = min(LONGEST_PAUSE, self._backoff * 2 ** (number - 1))
                current().pause(pause * random.uniform(0.5, 1.0))  # noqa: S311 (spreads the retries; no secret)
            current().pause(0)  # no new call when the work is to stop
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
                after = refusals.retry_after(error)
                if number >= REPORTED_AFTER:
                    self.trouble = f"Trying again: {self._error(model, error)}"
                if not refusals.worth_retrying(error) or after > LONGEST_RETRY_AFTER:
                    break
                if after or getattr(error, "status_code", 0) == 429:
                    self._gate.busy(sent, after)
        failure = self._error(model, trouble)
        failure.replies, failure.calls, failure.place = useless, number + 1, getattr(trouble, "place", None)
        raise failure from None

    def _send(self, messages: Sequence[Message], request: Request[Any]) -> tuple[Any, Usage]:
        """Make a call in the best mode the endpoint takes; a worse mode that works is remembered."""
        import openai

        modes = MODES[MODES.index(self._mode) :] if request.reply else MODES[-1:]
        for mode in modes:
            try:
                answer = self._post(messages, request, mode)
            except openai.APIError as error:
                if mode == "text" or not refusals.format_refused(error):
                    raise
            else:
                if request.reply:
                    self._mode = mode
                    self.forms.add(mode)
                return answer
        raise AssertionError("the last mode answers or raises")

    def _post(
        self,
        messages: Sequence[Message],
        request: Request[Any],
        mode: Mode,
        without: frozenset[str] = frozenset(),
    ) -> tuple[Any, Usage]:
        """Make an HTTP call; return response and usage.

        What the server refuses (`refusals.PARTS`) is left out, and from then on, when it answers without.
        """
        import openai

        body = self._body(messages, request, mode, without | self._refused)
        # All that a model reads: the messages, and the form of the reply.
        texts = [message["content"] for message in body["messages"]] + [str(body.get("response_format", ""))]
        most = self.price(_most_tokens(texts), request.max_tokens or UNBOUND)
        try:
            with _reserved(request.spending, self.model, most) as record_cost:
                started = time.monotonic()
                response = self._sent("/chat/completions", body)
                paid = self._account(self.model, response, started, texts, request.max_tokens)
                record_cost(paid.paid)
        except openai.APIStatusError as error:
            parts = refusals.parts_refused(error) if refusals.format_refused(error) else set()
            refused = parts & _parts_of(body) - without
            if not refused:
                raise
            answer = self._post(messages, request, mode, without | refused)
            self._refused |= refused - {"bound"}
            return answer
        except (ValueError, RecursionError):
            raise Malformed("a response that is not JSON") from None
        self._learn(paid)
        return response, paid

    def _sent(self, path: str, body: Mapping[str, Any]) -> Any:
        """Make an HTTP call, name look-up and reading included, within the time-out, whatever the server does.

        Returns the response's JSON: to make objects of it takes the client longer than all the rest. What is no JSON
        raises ValueError or RecursionError, what cannot be read Malformed.
        """
        import openai

        raw = transport.http_library().Response
        try:
            return json.loads(self._openai().post(self.base_url + path, cast_to=raw, body=body).content)
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, Malformed | Cancelled):
                raise error.__cause__ from None
            if not isinstance(error.__cause__, TimeoutError):
                raise
            raise openai.APITimeoutError(request=error.request) from None
        except TimeoutError:
            raise openai.APITimeoutError(request=None) from None  # type: ignore[arg-type]  # nobody reads it

    def _body(
        self, messages: Sequence[Message], request: Request[Any], mode: Mode, without: Collection[str]
    ) -> dict[str, Any]:
        kept = requests.without_system(messages) if "system" in without else messages
        sent = [{name: storable(text) for name, text in message.items()} for message in kept]
        body: dict[str, Any] = {"model": self.model, "messages": sent}
        if request.reply and mode != "json_schema":
            sent[-1]["content"] += "\n\n" + replies.instruction(request.reply)
        if request.reply and mode == "json_schema":
            schema = {"name": request.reply.__name__.strip("_"), "strict": True, "schema": replies.of(request.reply)}  # type: ignore[arg-type]  # a class is hashable
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.reply and mode == "json_object":
            body["response_format"] = {"type": "json_object"}
        limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
        bound = None if "bound" in without else request.max_tokens
        optional = {"temperature": request.temperature, "seed": request.seed, limit: bound}
        return body | {name: v for name, v in optional.items() if v is not None and name not in without}

    def _embed_halving(self, model: str, texts: Sequence[str], spending: Spending | None) -> NDArray[np.float32]:
        """Embed texts in one call, or where that is refused in two for one half each, and so on.

        Raises:
            ModelError: as `_embed_batch`; `place` is that of a text that is refused by itself.

        """
        if len(texts) <= self._batches.get(model, EMBED_BATCH):
            try:
                return self._embed_batch(model, texts, spending)
            except ModelError as error:
                if error.status in TOO_MUCH and len(texts) == 1:
                    error.place = 0
                if error.place is not None:
                    error.args = (f"{error} The text begins “{' '.join(texts[error.place][:80].split())}”.",)
                if error.status not in TOO_MUCH or len(texts) == 1:
                    raise
        half = len(texts) // 2
        first = self._embed_halving(model, texts[:half], spending)
        try:
            second = self._embed_halving(model, texts[half:], spending)
        except ModelError as error:
            if error.place is not None:
                error.place += half
            raise
        self._batches[model] = min(self._batches.get(model, EMBED_BATCH), len(texts) - half)
        return np.concatenate([first, second])

    def _embed_batch(self, model: str, texts: Sequence[str], spending: Spending | None) -> NDArray[np.float32]:
        inputs = [storable(text) for text in texts]

        def attempt(_: str) -> NDArray[np.float32]:
            try:
                rows = sorted(self._embeddings(model, inputs, spending)["data"], key=lambda row: row["index"])
                vectors = np.array([decoded(row["embedding"]) for row in rows], dtype=np.float32)
            except (ValueError, TypeError, LookupError, RecursionError):
                raise Malformed("a response without embeddings") from None
            if vectors.ndim != 2 or len(vectors) != len(inputs):
                raise Malformed(f"vectors of shape {vectors.shape} for {len(inputs)} texts")
            return of_unit_length(vectors)

        return self._persist(model, attempt)

    def _embeddings(self, model: str, texts: Sequence[str], spending: Spending | None) -> Any:
        """Make an HTTP call for embeddings, and return the response: in base64, of which numbers take a tenth.

        A server that refuses it, or sends numbers all the same, is asked for numbers from then on.
        """
        import openai

        body = {"model": model, "input": list(texts), "encoding_format": self._encoding or "base64"}
        try:
            most = cost(self._prices, model, _most_tokens(texts), 0)
            with _reserved(spending, model, most) as record_cost:
                started = time.monotonic()
                response = self._sent("/embeddings", body)
                record_cost(self._account(model, response, started, texts, None).paid)
        except openai.APIError as error:
            if self._encoding or not refusals.format_refused(error):
                raise
            self._encoding = "float"
            try:
                return self._embeddings(model, texts, spending)
            except openai.APIError:
                self._encoding = ""  # that was not what it refused
                raise
        self._encoding = "base64" if isinstance(response["data"][0]["embedding"], str) else "float"
        return response

    def _openai(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._client is None:
                # A server without a key gets a placeholder, never the key that happens to be in the environment.
                key = self._key.get_secret_value() if self._key else "none"
                http = transport.bounded_client(self._timeout, transport.trusted(self._ca_file))
                self._client = openai.OpenAI(base_url=self.base_url, api_key=key, http_client=http, max_retries=0)
            return self._client

    def open(self) -> None:
        """Import what a call needs, in the calling thread: concurrent imports can conflict."""
        self._openai()

    def _account(self, model: str, response: Any, started: float, texts: Sequence[str], room: int | None) -> Usage:
        """Return and add up the usage of a call that sent `texts` for a reply of at most `room` tokens.

        Numbers of tokens that are not reported, or absurd, are estimated from the texts instead.
        """
        used = response.get("usage") if isinstance(response, dict) else None
        sent, received = replies.tokens_in(texts), replies.tokens_in([replies.partial_text(response)])
        least = replies.tokens_in(texts[:1]) // 25, received // 25  # servers need not count the form of the reply
        most = 1000 + 12 * sent, 1000 + 2 * room if room else MOST_TOKENS
        received = min(received, room or received)
        prompt, unreported = replies.count(used, "prompt_tokens", least[0], most[0], sent)
        completion, also = replies.count(used, "completion_tokens", least[1], most[1], received)
        price = cost(self._prices, model, prompt, completion) or 0.0
        paid = Usage(1, prompt, completion, time.monotonic() - started, int(unreported or also), price)
        with self._lock:
            self.usage += paid
        return paid

    def _error(self, model: str, trouble: openai.APIError | Malformed) -> ModelError:
        where = f"Model '{model}' at {self.host}"
        if isinstance(trouble, Malformed):
            return ModelError(self._scrubbed(f"{where} gave {trouble}. {trouble.step}"))
        error = refusals.explained(trouble, where, self._timeout, self._scrubbed)
        error.args = (self._scrubbed(str(error)),)
        return error

    def _scrubbed(self, text: str) -> str:
        keys = [self._key.get_secret_value()] if self._key else []
        return " ".join(without_keys(text[:MOST_WORDS], [*keys, *secrets_of(self.base_url)]).split())


@contextmanager
def _reserved(spending: Spending | None, model: str, most: float | None) -> Iterator[Callable[[Paid | None], None]]:
    """Reserve `most` dollars for a call, as `Spending.call`; one that the server refused costs nothing."""
    import openai

    with (spending or Spending()).call(most, model) as record_cost:
        try:
            yield record_cost
        except openai.APIError as error:
            if refusals.unpaid(error):
                record_cost(None)
            raise


def _parts_of(body: Mapping[str, Any]) -> set[str]:
    parts = {"temperature", "seed", "max_tokens"} & body.keys()
    parts |= {"bound"} if {"max_tokens", "max_completion_tokens"} & body.keys() else set()
    return parts | {message["role"] for message in body["messages"]} & {"system"}


def _most_tokens(texts: Sequence[str]) -> int:
    # No known text has more tokens than half of its bytes; a server adds a few words of its own.
    return sum(len(text.encode()) for text in texts) // 2 + 16 * len(texts)
