"""What is configured, opened: the store, indexes, embedders and models."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragviz.core import addresses, processes
from ragviz.core.call import Exceeded, Limits, Paid
from ragviz.core.configuration import NO_EMBEDDER, REMOTE, Backend, IndexInfo, Run
from ragviz.core.digests import new_id
from ragviz.core.errors import UsageError
from ragviz.core.person import Person
from ragviz.core.settings import Settings, settings
from ragviz.core.share import Noun, Share
from ragviz.core.stopping import Progress, current, silent
from ragviz.store import database, homes
from ragviz.store.store import Store, open_store, sqlite_url

if TYPE_CHECKING:
    from ragviz.backends.protocol import Index
    from ragviz.models.chat import ModelClient
    from ragviz.models.requests import Prices, Spending
    from ragviz.models.vectors import Embedder, Kind


class Workspace:
    """Everything that one set of settings opens; each part is opened when it is first needed."""

    def __init__(self, settings: Settings, person: Person | None = None) -> None:
        """Open nothing yet; without a `person` it is RAGVIZ_PERSON or the login, an admin, who acts."""
        self.settings = settings
        self.person = person or Person(settings.person)
        self.typed: Mapping[str, str] = {}
        self.opened_in = Path.cwd()
        self.calls_functions = False  # of `module:function`: only in a person's own process, never for a submitted job
        self.paid = Paid()  # what calls of models cost that were recorded here
        self._paying = threading.Lock()
        self._clients: dict[str, ModelClient] = {}
        self._priced: Prices = {}

    @cached_property
    def store(self) -> Store:
        """The database: RAGVIZ_DATABASE_URL, or a SQLite file in RAGVIZ_HOME."""
        home, url = self.settings.home, self.settings.database_url
        if url is not None:
            return open_store(url.get_secret_value(), home)
        homes.examine(home)
        store = open_store(sqlite_url(home / homes.FILE), home)
        homes.note(home)
        return store

    def share(self, noun: Noun, of: IndexInfo | Run, *, total: int, size: int, **facts: Any) -> Share:
        """Return work of this process on an index or a run as other machines see it: `total` in shards of `size`."""
        known = {"total": total, "size": size, "pid": os.getpid(), **facts}
        place, title = processes.place(self.settings.home), f"{noun} {of.name}"
        return Share(new_id(), noun, of.id, of.corpus_id, title, self.person.name, place, known)

    def acting(self, person: Person, typed: Mapping[str, str]) -> Workspace:
        """Return what a person works with, on the same database, which a viewer can only read.

        `typed` are the settings that the person typed, as values of variables; their jobs get them too.

        Raises:
            UsageError: a value cannot be used.

        """
        other = Workspace(settings(typed).model_copy(update={"home": self.settings.home}), person)
        other.typed, other.opened_in = typed, self.opened_in
        other.store = self.store if person.may("editor") else self.store.read_only()
        return other

    @property
    def default_backend(self) -> Backend:
        """Elasticsearch where its address is set, else local."""
        return "elasticsearch" if self.settings.elasticsearch_url else "local"

    def log_of(self, job_id: str) -> Path:
        """Path of the log that the process of a job prints to."""
        return self.settings.home / "logs" / f"job-{job_id}.log"

    def index(self, info: IndexInfo) -> Index:
        """Open the index of a row, whether or not it is built."""
        return self.open_index(self.index_name(info), info.config.backend, info.config.options)

    def index_name(self, info: IndexInfo) -> str:
        """Return the name of a row's index on its backend, unique to the row."""
        return f"{info.name}-{info.id}"

    def open_index(self, name: str, backend: Backend, options: Mapping[str, Any]) -> Index:
        """Open the index `name`, which need not exist yet, on its backend.

        `options` are the backend's own: for Elasticsearch those of `elastic_requests.OPTIONS`; the local backend has
        none.

        Raises:
            UsageError: the backend has no such option, or is Elasticsearch without an address.

        """
        settings = self.settings
        if backend == "local":
            from ragviz.backends.local import LocalIndex

            if options:
                raise UsageError(f"The local backend has no option {', '.join(sorted(options))}; leave it out.")
            return LocalIndex(name, settings.home / "indexes")
        from ragviz.backends.elastic import ElasticIndex

        if not settings.elasticsearch_url:
            raise UsageError(f"Index {name!r} is on Elasticsearch, which has no address here; set ELASTICSEARCH_URL.")
        return ElasticIndex(name, settings, dict(options))

    def embedder_name(self, name: str | None) -> str:
        """Return the embedder of an index by the name that a person gave: "" for "none", the default without a name."""
        return "" if name == NO_EMBEDDER else name or self.settings.embedder

    def embedder(
        self,
        name: str,
        spending: Spending | None = None,
        progress: Progress = silent,
        prompts: Mapping[Kind, str] | None = None,
    ) -> Embedder:
        """Open an embedder whose vectors are cached in the store; `progress` hears when its model is being loaded.

        "openai:MODEL" calls the model endpoint: its calls are recorded in `spending`, `prompts` stand before its texts.
        """
        from ragviz.models import embedding

        cache = self.store.cache("embedding")
        if not name.startswith(REMOTE):
            loading = partial(progress, 0, None, "", "Loading the embedder")
            return embedding.open_embedder(name, cache=cache, loading=loading)
        model, endpoint = self.model, addresses.shown(self.settings.openai_base_url or "")
        remote = partial(model.embed, spending=spending)
        prompts = prompts or embedding.NO_PROMPTS
        return embedding.open_embedder(
            name, cache=cache, remote=remote, endpoint=endpoint, prompts=prompts, opened=model.open
        )

    def spending(self, owner_id: str, budget: float | None = None) -> Spending:
        """Return the record of the model calls that a run, question set or index pays.

        `budget` is in dollars, for all its calls so far and to come; beside it holds RAGVIZ_MONTHLY_BUDGET.
        """
        from ragviz.models.requests import Spending

        def pay(paid: Paid, limits: Limits) -> Exceeded | None:
            exceeded = self.store.payments.add(owner_id, paid, limits, self.person.name)
            if exceeded is None:
                with self._paying:
                    self.paid += paid
            return exceeded

        return Spending(pay, budget, self.settings.monthly_budget, lambda: current().is_set())

    def check_price(self, model: str, budget: float | None) -> None:
        """Raise UsageError when calls of a model are limited, by a `budget` or by the month, and it has no price."""
        from ragviz.models.requests import without_price

        limited = budget is not None or self.settings.monthly_budget is not None
        if limited and not self.client(model).priced:
            raise UsageError(without_price(model, budget=budget is not None))

    @property
    def model(self) -> ModelClient:
        """The model that is configured; UsageError when none is."""
        return self.client(self.settings.model)

    def client(self, model: str) -> ModelClient:
        """Return the client of one model of the endpoint, the same each time until the prices change.

        Raises:
            UsageError: no endpoint is configured.

        """
        from ragviz.models import chat

        self.person.need("editor", "ask a model, which costs money")
        settings = self.settings
        if not settings.model_configured:
            raise UsageError("No model is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own.")
        prices = self.store.prices.all()
        if prices != self._priced:  # another process may have changed them
            self._clients.clear()
            self._priced = prices
        _check_base_url(settings.openai_base_url)
        if model not in self._clients:
            self._clients[model] = chat.ModelClient(
                base_url=settings.openai_base_url,
                api_key=settings.openai_api_key,
                model=model,
                cache=self.store.cache("model"),
                paces=self.store.cache("pace"),
                prices=prices,
                concurrency=settings.model_concurrency,
                timeout=settings.model_timeout,
                ca_file=settings.ca_file,
            )
        return self._clients[model]


def _check_base_url(url: str | None) -> None:
    if not addresses.is_usable(url or "https://the.default/v1") or addresses.is_ambiguous(url or ""):
        raise UsageError(
            "OPENAI_BASE_URL is no address of a server: write it like http://localhost:8000/v1, with its scheme, "
            "and / \\ ? # @ in a password as %2F %5C %3F %23 %40."
        )


def open_workspace(home: Path | None = None) -> Workspace:
    """Open what the environment configures, in the folder `home` where one is given instead of RAGVIZ_HOME.

    Raises:
        UsageError: a variable is invalid; the path is not a folder, and cannot be created.

    """
    current = settings()
    current = current.model_copy(update={"home": (home or current.home).absolute()})
    try:
        database.create_home(current.home)
    except OSError as error:
        raise UsageError(
            f"RAGVIZ_HOME is {current.home}, which cannot be used as a folder: {error.strerror}. Name another one."
        ) from None
    return Workspace(current)
