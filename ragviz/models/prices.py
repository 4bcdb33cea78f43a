"""Prices of models, and what a call costs."""

from __future__ import annotations

from collections.abc import Mapping

from ragviz.errors import UsageError

Prices = Mapping[str, tuple[float, float]]
"""Model name → dollars per million prompt tokens, and per million completion tokens."""

PRICES: Prices = {"gpt-4o": (2.5, 10.0), "gpt-4o-mini": (0.15, 0.6)}
"""What two common models cost when this was written: to be looked up and changed on the settings page."""


def cost(prices: Prices, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Dollars for that many tokens; None when neither `model` nor a name it begins with has a price.

    >>> cost({"gpt": (1.0, 2.0), "gpt-mini": (0.5, 1.0)}, "gpt-mini-2024", 2_000_000, 1_000_000)
    2.0
    """
    names = [name for name in prices if model.startswith(name)]
    if not names:
        return None
    asked, answered = prices[max(names, key=len)]
    return (prompt_tokens * asked + completion_tokens * answered) / 1e6


def merged_prices(before: Prices, mine: Prices, now: Prices) -> Prices:
    """The prices `now` with what was changed from `before` to `mine`: added, another price, or taken out.

    >>> merged_prices({"a": (1.0, 1.0)}, {"b": (2.0, 2.0)}, {"a": (1.0, 1.0), "c": (3.0, 3.0)})
    {'c': (3.0, 3.0), 'b': (2.0, 2.0)}

    Raises:
        UsageError: somebody else changed one of the same to another price since `before`.

    """
    changed = {name for name in {*before, *mine} if before.get(name) != mine.get(name)}
    if both := sorted(name for name in changed if now.get(name) not in (before.get(name), mine.get(name))):
        raise UsageError(
            f"The price of {', '.join(both)} was changed by somebody else since it was shown: nothing was saved. "
            "Load the page again to see it, and enter yours then."
        )
    kept = {name: pair for name, pair in now.items() if name not in changed}
    return kept | {name: pair for name, pair in mine.items() if name in changed}
