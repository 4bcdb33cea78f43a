"""The tab *Real questions*: a log of what people asked, what the set lacks of it, what no document answers, weights."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.core.document import Corpus
from ragviz.core.question_set import QuestionSet
from ragviz.core.run_info import Run
from ragviz.health import demand, material
from ragviz.health.demand import Cluster, Demand
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, job_panel, person, presses, wording
from ragviz.ui.kit import heading, notices, table, tiles

FIRST = 10
"""Questions that one press adds, the most asked."""
NO_INDEX = "(none: compare words with the set only)"
SHOWN = {"unasked": "Not in the set", "unanswered": "Answered by no document", "all": "All"}
"""Filter of clusters → its title."""
_LOGS = ["csv", "tsv", "txt", "jsonl", "ndjson"]


def show(corpus: Corpus, question_set: QuestionSet) -> None:
    """Draw what is known of what people ask, and the form that reads a log."""
    read = _stored(question_set)
    if read is None:
        st.markdown(
            "No log yet. Import what people asked: the page shows what the set does not ask, what no document answers, "
            "and scores weighted by how often each question is asked."
        )
        _form(corpus, question_set)
        return
    told = demand.shares(read)
    with tiles.row():
        tiles.tile("Asked", f"{read.asked:,}", f"{read.texts:,} texts of {plain(read.file)}")
        tiles.tile("Different questions", f"{len(read.clusters) + read.unlisted:,}", "texts that ask the same are one")
        _share("In the set", told["asked"], f"{len(read.unasked):,} questions are not")
        _share("Answered by a document", told["held"], f"{len(read.unanswered):,} questions are not")
    said = [*list(demand.sentences(read))[2:], *read.notes]  # the tiles say the first two
    st.caption("  \n".join(map(plain, said)))
    _clusters(question_set, read)
    _weighted(question_set, read)
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
        alike = st.slider(
            "Same question from", 0.5, 1.0, demand.ALIKE, 0.05, key="asked-alike",
            help="Cosine of two embeddings, where the index has an embedder of the log's language.",
        )  # fmt: skip
        going = job_panel.active_job("asked", corpus.id, questions=question_set.id) is not None
        label = "Reading…" if going else "Read the log"
        if st.form_submit_button(label, type="primary", key=presses.key("read-log"), disabled=going) and file:
            with notices.errors_shown():
                name = "" if index == NO_INDEX else str(index)
                job_panel.submit_files(
                    "read-log",
                    [(file.name, file.getvalue())],
                    lambda folder, staged, upload: question_verbs.read_log(
                        question_set, staged[0], index=name, alike=float(alike), folder=folder, upload=upload
                    ),
                )
    with right:
        st.markdown(
            "One column is enough, called `question`, `query`, `text` or `问题`; a column `count` is read too. Times, "
            "users and all other columns are not looked at.\n\n**What is kept**: the texts, and how often each was "
            "asked. Keys, addresses of mail and long numbers are taken out of the texts."
        )


def _share(title: str, share: float | None, note: str) -> None:
    words = "not known" if share is None else f"{share:.0%}"
    tiles.tile(title, words, "no index, or too few questions to learn from" if share is None else note)


def _clusters(question_set: QuestionSet, read: Demand) -> None:
    chosen = address.choose_one("Questions", SHOWN, "asked")
    listed = {"unasked": read.unasked, "unanswered": read.unanswered}.get(chosen, read.clusters)
    rows = _rows(listed).drop(columns=["In the set"] if chosen == "unasked" else [])
    turn = f"{chosen}-{cache.state(question_set.id).revisions[0]}"
    missing = [each for each in listed if not each.question]
    ticked = [each for each in table.ticked(st.session_state.get(f"asked-{turn}"), listed) if not each.question]
    first = missing[:FIRST]
    above = table.row_above("asked", f"{wording.counted(len(listed), 'question')} people ask")
    with above:
        label = f"Add {len(ticked):,} ticked" if ticked else "Add ticked"
        if st.button(label, key="add-ticked", disabled=not ticked):
            _add(question_set, ticked)
        if st.button(f"Add the {len(first):,} most asked", key="add-first", disabled=not first):
            _add(question_set, first)
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
            "Best chunk": table.number(written="%.2f", help="How well the best chunk fits; 1 at most."),
            "Nearest in the set": table.number(written="%.2f", help="1: the same words or meaning."),
        },
        opened=lambda _: None,
        turn=turn,
        several=True,
        most=10,
    )


def _add(question_set: QuestionSet, chosen: Sequence[Cluster]) -> None:
    added = demand.add(cache.workspace(), question_set, [each.text for each in chosen], person.name())
    aside = sum(question.status == "quarantined" for question in added)
    words = f"{wording.counted(len(added), 'question')} added"
    st.toast(words + (f", {aside:,} of them set aside until their evidence is marked." if aside else " as proposed."))
    st.rerun()


def _rows(listed: Sequence[Cluster]) -> pd.DataFrame:
    held = {True: "yes", False: "no", None: ""}
    return pd.DataFrame(
        {
            "Question": [each.text for each in listed],
            "Asked": [each.count for each in listed],
            "Texts": [each.texts for each in listed],
            "In the set": [each.question for each in listed],
            "Answered": [held[each.held] for each in listed],
            "Best chunk": [each.score for each in listed],
            "Nearest in the set": [each.alike for each in listed],
            "Also asked as": [" · ".join(each.examples) for each in listed],
        }
    )


def _weighted(question_set: QuestionSet, read: Demand) -> None:
    workspace = cache.workspace()
    heading.section("Scores weighted by what is asked")
    run = next(iter(material.runs_of(workspace, question_set)), None)
    if run is None:
        st.caption("No run has asked this set yet: make one to see its scores weighted.")
    else:
        columns = {name: table.number(written="%.3f") for name in ("Each question once", "Weighted")}
        rows = _means(run, question_set)
        table.draw(rows, "weighted-means", columns={"Metric": 140} | columns, alt="Weighted means")
        st.caption(f"Run {plain(run.name)}. Weighted: {demand.WEIGHT}; 95 % intervals clustered by document.")
    questions = workspace.store.questions.all(question_set.id)
    differ = demand.newly_weighted(read, questions)
    told = f"Of each question of the set: {demand.WEIGHT}."
    if st.button("Store as the questions' weights", key="apply-weights", disabled=not differ, help=told):
        demand.apply_weights(workspace, question_set, read, person.name())
        st.rerun()
    if not differ:
        st.caption(demand.unchanged_words(read, questions))


@cache.kept(16, "Weighing")
def _means(run: Run, question_set: QuestionSet) -> pd.DataFrame:
    workspace, read = cache.workspace(), _stored(question_set)
    assert read is not None
    weights = demand.weights_of(read, workspace.store.questions.all(question_set.id))
    means = demand.weighted_means(workspace, run, weights)
    return pd.DataFrame(
        {
            "Metric": [mean.metric for mean in means],
            "Each question once": [mean.plain.mean for mean in means],
            "Its 95 %": [tiles.interval_words(mean.plain) for mean in means],
            "Weighted": [mean.weighted.mean for mean in means],
            "Weighted, 95 %": [tiles.interval_words(mean.weighted) for mean in means],
            "n": [mean.weighted.n for mean in means],
        }
    )
