"""Prices of models, and what a call costs."""

from __future__ import annotations

from collections.abc import Mapping

from ragviz.core.errors import UsageError

Prices = Mapping[str, tuple[float, float]]
"""Model name → dollars per million prompt tokens, and per million completion tokens."""


def cost(prices: Prices, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the dollars for that many tokens; None when neither `model` nor a prefix of it has a price.

    >>> cost({"gpt": (1.0, 2.0), "gpt-mini": (0.5, 1.0)}, "gpt-mini-2024", 2_000_000, 1_000_000)
    2.0
    """
    names = [name for name in prices if model.startswith(name)]
    if not names:
        return None
    input_price, output_price = prices[max(names, key=len)]
    return (prompt_tokens * input_price + completion_tokens * output_price) / 1e6


def merged_prices(before: Prices, mine: Prices, now: Prices) -> Prices:
    """Return the prices `now` with the changes from `before` to `mine`: added, changed or removed ones.

    >>> merged_prices({"a": (1.0, 1.0)}, {"b": (2.0, 2.0)}, {"a": (1.0, 1.0), "c": (3.0, 3.0)})
    {'c': (3.0, 3.0), 'b': (2.0, 2.0)}

    Raises:
        UsageError: somebody else gave one of these another price since `before`.

    """
    changed = {name for name in {*before, *mine} if before.get(name) != mine.get(name)}
    if conflicts := sorted(name for name in changed if now.get(name) not in (before.get(name), mine.get(name))):
        raise UsageError(
            f"The price of {', '.join(conflicts)} was changed by somebody else since it was shown: nothing was saved. "
            "Load the page again to see it, and enter yours then."
        )
    unchanged = {name: pair for name, pair in now.items() if name not in changed}
    return unchanged | {name: pair for name, pair in mine.items() if name in changed}
