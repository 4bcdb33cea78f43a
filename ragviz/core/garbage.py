"""Python's search for cyclic garbage, left out where much is made and none of it is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no cyclic garbage while the body reads or makes a run: it makes none, and looking takes a tenth of it.

    Of several threads that are in it at once, the first to begin ends it for all.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
