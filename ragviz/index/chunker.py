"""What a chunker is: how it cuts, and the parameters of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.core.errors import UsageError
from ragviz.core.fields import Field
from ragviz.index.tokens import Range, Tokens

Sentences = Callable[[str, str], Iterable[Range]]
"""(text, language) → offsets of the sentences, in order: `segmentation.each_sentence`."""


@dataclass(frozen=True, slots=True)
class Chunker:
    """One way to cut documents.

    `cut` yields ranges of the document, not yet trimmed, in order, that together hold every character. `parameters` are
    its own, by the names under which they are in `IndexConfig.chunker_options`.
    """

    explanation: str
    cut: Callable[[Document, IndexConfig, Tokens, Sentences | None], Iterator[Range]]
    parameters: Mapping[str, Field] = field(default_factory=dict)

    def value(self, config: IndexConfig, name: str) -> float:
        """Return a parameter as `config` has it, else its default."""
        return config.chunker_options.get(name, self.parameters[name].default)

    def without_defaults(self, options: Mapping[str, float]) -> dict[str, float]:
        """Return the options that differ from the defaults: the same choices are then the same configuration."""
        return {name: value for name, value in options.items() if value != self.parameters[name].default}

    def check(self, config: IndexConfig) -> None:
        """Do nothing when the chunker's own parameters in `config` can be used.

        Raises:
            UsageError: it has no such parameter, or a value that cannot be used.

        """
        for name, value in config.chunker_options.items():
            if name not in self.parameters:
                known = f"its parameters are {', '.join(self.parameters)}" if self.parameters else "it has none"
                raise UsageError(f"The chunker '{config.chunker}' has no parameter '{name}': {known}.")
            replace(self.parameters[name], name=name).checked(value)
