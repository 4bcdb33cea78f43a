"""The tab *Real questions*: a log of what people asked, and what the set lacks of it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ragviz.core.digests import digest
from ragviz.core.document import Corpus
from ragviz.core.question_set import QuestionSet
from ragviz.health import demand
from ragviz.health.demand import Demand
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import cache, job_panel, presses, wording
from ragviz.ui.kit import acting, notices, table, tiles

FIRST = 10
"""Questions that one press adds where none is ticked, the most asked."""
NO_INDEX = "(none: compare words with the set only)"
_LOGS = ["csv", "tsv", "txt", "jsonl", "ndjson"]


def show(corpus: Corpus, question_set: QuestionSet) -> None:
    """Draw what is known of what people ask, and the form that reads a log."""
    read = _stored(question_set)
    if read is None:
        st.markdown(
            "No log yet. Import what people asked: the page shows what the set does not ask, the most asked first."
        )
        _form(corpus, question_set)
        return
    with tiles.row():
        tiles.tile("Asked", f"{read.asked:,}", f"{read.texts:,} texts of {plain(read.file)}")
        tiles.tile("Different questions", f"{read.different:,}", "texts that ask the same are one")
        tiles.tile("In the set", f"{read.share:.0%}", f"{len(read.unasked):,} questions are not")
    said = [*list(demand.sentences(read))[2:], *read.notes]  # the tiles say the first two
    st.caption("  \n".join(map(plain, said)))
    _clusters(question_set, read)
    with st.expander("Read another log"):
        _form(corpus, question_set)


@cache.kept(8)
def _stored(question_set: QuestionSet) -> Demand | None:
    return demand.stored(cache.workspace(), question_set)


def _form(corpus: Corpus, question_set: QuestionSet) -> None:
    store = cache.workspace().store
    indexes = [info.name for info in store.indexes.all(corpus.id) if info.build]
    left, right = st.columns([3, 2], gap="medium")
    with left, st.form("asked-form", clear_on_submit=True):
        file = st.file_uploader("Log: CSV, TSV, JSONL, or text with one question a line", type=_LOGS, key="asked-file")
        index = st.selectbox("Index", [*indexes, NO_INDEX], key="asked-index")
        going = job_panel.active_job("asked", corpus.id, questions=question_set.id) is not None
        label = "Reading…" if going else "Read the log"
        if (
            st.form_submit_button(label, type="primary", key=presses.key("read-log"), disabled=going or acting.off())
            and file
        ):
            with notices.errors_shown():
                name = "" if index == NO_INDEX else str(index)
                job_panel.submit_files(
                    "read-log",
                    [(file.name, file.getvalue())],
                    lambda folder, staged, upload: question_verbs.read_log(
                        cache.workspace(), question_set, staged[0], index=name, folder=folder, upload=upload
                    ),
                )
    with right:
        st.markdown(
            "One column is enough, called `question`, `query`, `text` or `问题`; a column `count` is read too. Times, "
            "users and all other columns are not looked at.\n\n**What is kept**: the texts, and how often each was "
            "asked. Keys, addresses of mail and long numbers are taken out of the texts."
        )


def _clusters(question_set: QuestionSet, read: Demand) -> None:
    listed = read.unasked
    rows = pd.DataFrame(
        {
            "Question": [each.text for each in listed],
            "Asked": [each.count for each in listed],
            "Nearest in the set": [each.alike for each in listed],
            "Also asked as": [" · ".join(each.examples) for each in listed],
        }
    )
    turn = str(cache.state(question_set.id).revisions[0])
    ticked = table.ticked(st.session_state.get(f"asked-{turn}"), listed)
    some = ticked or listed[:FIRST]
    above = table.row_above("asked", f"{wording.counted(len(listed), 'question')} people ask, and the set does not")
    with above:
        label = f"Add {len(some):,} ticked" if ticked else f"Add the {len(some):,} most asked"
        if st.button(label, key=f"add-{digest(*(each.text for each in some))}", disabled=not some or acting.off()):
            added = question_verbs.add_asked(cache.workspace(), question_set, [each.text for each in some])
            st.toast(f"{wording.counted(len(added), 'question')} added, set aside until the evidence is marked.")
            st.rerun()
    if not listed:
        st.caption("None.")
        return
    table.draw(
        rows,
        "asked",
        alt="What people ask",
        above=above,
        file=f"{question_set.name}-asked",
        columns={
            "Question": 340,
            "Asked": 70,
            "Nearest in the set": table.number(written="%.2f", help="1: the same words or meaning."),
        },
        opened=lambda _: None,
        turn=turn,
        several=True,
        most=10,
    )
