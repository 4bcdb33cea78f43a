"""What is kept for long is left out of the search for cyclic garbage, and garbage among it is found later."""

from __future__ import annotations

import gc
import weakref

import pytest

from ragviz.ui import cache


class Ring:
    """Refers to itself: only the search for cyclic garbage frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.model
def test_frozen_objects_are_not_searched_and_frozen_garbage_is_freed_once_much_was_made() -> None:
    gc.unfreeze()
    kept = [[number] for number in range(60_000)]
    ring = Ring()
    freed = weakref.ref(ring)
    cache.freeze()
    assert gc.get_freeze_count() > len(kept) > len(gc.get_objects())
    del ring
    gc.collect()
    assert freed() is not None
    cache.freeze()  # little was made
    assert freed() is not None
    more = [[number] for number in range(60_000)]
    cache.freeze()
    assert freed() is None
    assert gc.get_freeze_count() > len(kept) + len(more)
