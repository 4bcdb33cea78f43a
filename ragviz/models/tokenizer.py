"""Tokens of a text as an embedding model counts them; loads no model."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ragviz.core.configuration import REMOTE
from ragviz.core.errors import UsageError
from ragviz.models import weights
from ragviz.models.weights import PACKAGED, Card
from ragviz.text.untrusted import without_surrogates

if TYPE_CHECKING:
    import tokenizers


def max_tokens_of(name: str) -> int | None:
    """Return the tokens that an embedder reads of a text, special ones included; None when unknown, or for none ("").

    Loads no model.

    >>> max_tokens_of("all-MiniLM-L6-v2")
    256
    """
    return None if not name or name.startswith(REMOTE) else weights.card(name).max_tokens


def text_tokens_of(name: str) -> int | None:
    """Return the tokens left for a passage beside special ones and the model's prompt: the limit of `Chunk.tokens`.

    >>> text_tokens_of("all-MiniLM-L6-v2")
    254
    """
    most = max_tokens_of(name)
    if most is None:
        return None
    tokenizer = open_tokenizer(name)
    return most - tokenizer.special - len(tokenizer.offsets(weights.card(name).prompts["passage"]))


class Tokenizer:
    """The tokenizer of a model, without truncation or padding."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        """Take over `tokenizer`; it is changed."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.special: int = tokenizer.num_special_tokens_to_add(is_pair=False)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the character range of every token of `text`, in order, special tokens left out.

        Characters that the model never sees (control characters, accents) may be in no token.
        """
        return list(self._tokenizer.encode(without_surrogates(text), add_special_tokens=False).offsets)


def open_tokenizer(name: str) -> Tokenizer:
    """Open the tokenizer of an embedder, without loading its model or torch.

    The tokenizers of an endpoint's models are not known: "openai:MODEL" gets the packaged model's, which makes about as
    many tokens of English text and more of Chinese; so does "", for no embedder.

    Raises:
        UsageError: no model has that name, or it has no tokenizer of a known form.
        ModelError: its files could not be fetched.

    """
    return _tokenizer(weights.card(PACKAGED if not name or name.startswith(REMOTE) else name))


@lru_cache(maxsize=8)
def _tokenizer(card: Card) -> Tokenizer:
    import tokenizers

    file = min(card.folder.rglob("tokenizer.json"), key=lambda path: len(path.parts), default=None)
    if file is None:
        missing = f"Embedder '{card.name}' has no tokenizer.json in {card.folder}"
        raise UsageError(f"{missing}: save the model with its fast tokenizer.")
    return Tokenizer(tokenizers.Tokenizer.from_file(str(file)))
