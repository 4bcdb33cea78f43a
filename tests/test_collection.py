"""What is kept for long: left out of the search for garbage, which is found later, and freed once it has changed."""

from __future__ import annotations

import gc
import weakref

import pytest

from ragviz.core.document import Corpus
from ragviz.ui import cache
from ragviz.workspace import Workspace


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


def test_what_was_made_of_a_former_state_is_freed(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_opened", [workspace])
    corpus = workspace.store.corpora.add("notes")

    @cache.kept(8)
    def made(corpus: Corpus) -> set[str]:
        return {corpus.name}

    former = weakref.ref(made(corpus))
    assert made(corpus) is former()
    workspace.store.touch(corpus.id)
    present = made(corpus)
    assert former() is None
    assert made(corpus) is present
