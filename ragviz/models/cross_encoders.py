"""Cross-encoders on this machine: models that read a question and a passage together, and give the pair one score."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ragviz.core.errors import ModelError, UsageError
from ragviz.models import weights
from ragviz.models.weights import Card
from ragviz.text.untrusted import without_surrogates

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

TOGETHER = 64
"""Pairs between two reports of progress; the model takes its own batches of them, of like length."""
BATCH = 8
"""Pairs of one batch on a CPU, whose cache is small; a GPU takes 64."""

_OTHERWISE = (
    "Give a folder saved by sentence-transformers' CrossEncoder, or rerank by 'maxsim', which needs no network."
)


def card(name: str) -> Card:
    """Return the card of the cross-encoder called `name`: in a folder, or on the hub (without an owner: cross-encoder).

    Its small files are fetched where they are not here.

    Raises:
        UsageError: no folder or model has that name, or it is no cross-encoder.
        ModelError: the hub cannot be reached.

    """
    whole = name if "/" in name or Path(name).expanduser().is_dir() else f"cross-encoder/{name}"
    found = weights.card(whole, _OTHERWISE)
    of_library = weights.read_json(found.folder / "config_sentence_transformers.json").get("model_type")
    heads = weights.read_json(found.folder / "config.json").get("architectures") or []
    # One of another model would get a random head.
    if of_library != "CrossEncoder" and not any(str(head).endswith("ForSequenceClassification") for head in heads):
        raise UsageError(
            f"'{name}' is no cross-encoder: its config.json names no model that scores a pair of texts. {_OTHERWISE}"
        )
    return found


def loaded(card: Card) -> CrossEncoder:
    """Return the model of a card.

    Raises:
        ModelError: it cannot be loaded, or gives a pair more than one score.

    """
    return weights.one_at_a_time(_load, card)


@lru_cache(maxsize=1)
def _load(card: Card) -> CrossEncoder:
    from sentence_transformers import CrossEncoder

    try:
        model: CrossEncoder = weights.opened(CrossEncoder, card)
        labels = model.num_labels
    except Exception as error:
        reason = f"Cross-encoder '{card.name}' cannot be loaded: {weights.first_line(error)}"
        raise ModelError(f"{reason}. {_OTHERWISE}") from error
    if labels != 1:
        raise ModelError(f"'{card.name}' gives a pair {labels} scores, and a reranker needs one. {_OTHERWISE}")
    return model


def scores(card: Card, pairs: Sequence[tuple[str, str]]) -> Generator[list[float]]:
    """Yield the scores of pairs of question and passage, as `CrossEncoder.predict` gives them, some at a time."""
    model = loaded(card)
    batch = BATCH if model.device.type == "cpu" else TOGETHER
    for start in range(0, len(pairs), TOGETHER):
        some = [(without_surrogates(a), without_surrogates(b)) for a, b in pairs[start : start + TOGETHER]]
        yield [float(score) for score in model.predict(some, batch_size=batch, show_progress_bar=False)]
