"""What has to be known of an index before what it gives is read."""

from __future__ import annotations

import streamlit as st

from ragviz.core.index_info import IndexInfo
from ragviz.index import indexing
from ragviz.text.markup import plain
from ragviz.ui import address, cache


def behind(index: IndexInfo) -> None:
    """Say how an index differs from its documents, with the way to update it; nothing where it does not."""
    if words := _behind_words(index):
        st.markdown(f":orange[▲] {plain(index.name)} is behind its documents ({words}): what changed is not found.")
        address.link("index", "Update the index", index=index.name)


@cache.kept(16, also=lambda index: (index.corpus_id,))
def _behind_words(index: IndexInfo) -> str:
    return indexing.behind_words(cache.workspace(), index)
