"""Attacks: hostile files, kills, odd replies of judges, writers side by side, pages of strangers.

A part of each attack runs with the other tests, the whole of it with `make attack`. Every input is drawn from a seed,
so that what broke can be tried again.
"""

import os

WHOLE = os.environ.get("RAGVIZ_ATTACK") == "whole"


def seeds(some: int, whole: int) -> range:
    """Seeds to draw inputs from: `some` with the other tests, `whole` with `make attack`.

    >>> len(seeds(3, 3))
    3
    """
    return range(whole if WHOLE else some)
