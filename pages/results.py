import io
import zipfile
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ragviz import pipeline, plots, stats, ui
from ragviz.evaluate import Summary
from ragviz.markup import highlighted, legend, plain
from ragviz.metrics import METRICS
from ragviz.records import Estimate, Question, Retrieved, Run

FILTERS = ("rank", "document", "outcome", "find")
OUTCOMES = ("all", "found", "below k", "missed")

workspace = ui.begin()
store = workspace.store


# The answer


def tiles(summary: Summary) -> None:
    k = summary.k
    mean, low, high = (float(part[0]) for part in summary.curves["precision"])
    first = Estimate(mean, low, high, summary.n)
    missed = stats.bootstrap(summary.ranks == 0)
    note = f"{missed.mean:.0%} [{missed.low:.0%}, {missed.high:.0%}] of {summary.n}"
    with ui.tiles():
        ui.estimate_tile(f"Recall@{k}", summary.metrics[f"recall@{k}"], explained=METRICS["recall"].explanation)
        ui.estimate_tile("Precision@1", first, explained=METRICS["precision"].explanation)
        ui.estimate_tile("MRR", summary.metrics["mrr"], explained=METRICS["mrr"].explanation)
        ui.tile("Misses ↓", f"{summary.misses:,}", note, explained=ui.MISSES_EXPLAINED)


def pictures(summary: Summary, key: str) -> None:
    left, right = st.columns(2, gap="medium")
    with left, ui.errors_shown():
        st.markdown("**Where the evidence ranks**")
        bars = f"bars-{key}"

        def bar_clicked() -> None:
            ui.put(rank=ui.rank_words(ui.clicked(st.session_state[bars])))

        drawn = plots.rank_histogram(
            ranks_of(summary), depth=summary.depth, k=summary.k, selected=ui.rank_pair(st.query_params.get("rank"))
        )
        ui.figure(drawn, bars, on_select=bar_clicked)
    with right, ui.errors_shown():
        st.markdown("**What another k would keep**")
        lines = f"lines-{key}"

        def point_clicked() -> None:
            if point := ui.clicked(st.session_state[lines]):
                ui.put(k=point[0])

        ui.figure(plots.curves(curves_of(summary), k=summary.k), lines, on_select=point_clicked)


def ranks_of(summary: Summary, name: str = "") -> plots.Ranks:
    return plots.Ranks(name, summary.ranks[summary.ranks > 0], summary.misses)


def curves_of(summary: Summary) -> list[plots.Curve]:
    k = np.arange(1, summary.depth + 1)
    titles = {"recall": "recall", "precision": "precision", "f1": "F1"}
    return [plots.Curve(titles[name], k, *summary.curves[name], summary.n) for name in titles]


# The evidence


def documents_table(run: Run, summary: Summary, key: str) -> None:
    groups = ui.by_document(store.address, run.id, run.finished, summary.k)
    rows = pd.DataFrame(
        {
            "Document": [g.name for g in groups],
            "Questions": [g.recall.n for g in groups],
            "Misses": [g.misses for g in groups],
            f"Recall@{summary.k}": [g.recall.mean for g in groups],
            "95 %": [ui.interval_words(g.recall) for g in groups],
        }
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{ui.counted(len(groups), 'document')}, the worst first**", width="stretch")
        ui.csv_button(rows, "documents.csv", "by-document-csv")
    table = f"by-document-{key}"

    def opened() -> None:
        ui.put(document=ui.selected(st.session_state[table], [g.name for g in groups]))

    columns = {
        "Document": st.column_config.TextColumn(width=170),
        f"Recall@{summary.k}": st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.2f"),
    }
    ui.table(rows, table, columns=columns, on_select=opened, height=320, alt="Recall by document")


def metrics_table(summary: Summary) -> None:
    st.markdown(f"**All measures at k = {summary.k}**")
    rows = pd.DataFrame(
        {
            "Measure": list(summary.metrics),
            "Mean": [e.mean for e in summary.metrics.values()],
            "95 %": [ui.interval_words(e) for e in summary.metrics.values()],
            "n": [e.n for e in summary.metrics.values()],
            "What it is": [METRICS[name.split("@")[0]].explanation for name in summary.metrics],
        }
    )
    columns = {
        "Mean": st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.3f"),
        "What it is": st.column_config.TextColumn(width="large"),
    }
    ui.table(rows, "measures", columns=columns, height=320, alt="All measures")


# The questions


def question_rows(
    summary: Summary, asked: dict[str, tuple[Question, Retrieved]], documents: dict[str, Sequence[str]]
) -> pd.DataFrame:
    """One row a ranked question, the worst first: missed, then by rank from the deepest."""
    rows = pd.DataFrame(
        {
            "Rank": [int(rank) or None for rank in summary.ranks],
            "Outcome": [ui.outcome_of(int(rank), summary.k) for rank in summary.ranks],
            "Question": [asked[i][0].text for i in summary.question_ids],
            "Document": [", ".join(documents[i]) for i in summary.question_ids],
            f"Recall@{summary.k}": summary.scores[f"recall@{summary.k}"],
            "Kind": [asked[i][0].kind for i in summary.question_ids],
            "Id": list(summary.question_ids),
        }
    )
    rows["Rank"] = rows["Rank"].astype("Int64")
    return rows.sort_values("Rank", ascending=False, na_position="first", kind="stable")


def filtered(rows: pd.DataFrame, documents: dict[str, Sequence[str]]) -> pd.DataFrame:
    """The rows that pass every filter of the address."""
    query = st.query_params
    if pair := ui.rank_pair(query.get("rank")):
        rows = rows[rows["Rank"].isna() if pair == (0, 0) else rows["Rank"].between(*pair).fillna(False)]
    if name := query.get("document"):
        rows = rows[[name in documents[i] for i in rows["Id"]]]
    if (outcome := query.get("outcome", "all")) in OUTCOMES[1:]:
        rows = rows[rows["Outcome"] == outcome]
    if words := query.get("find", "").casefold():
        rows = rows[[words in text.casefold() for text in rows["Question"]]]
    return rows


def chips(count: int) -> None:
    """Every filter that is on, to be taken off with a click."""
    on = {name: st.query_params[name] for name in FILTERS if st.query_params.get(name, "all") != "all"}
    if not on:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"{ui.counted(count, 'question')} with", width="content")
        for name, value in on.items():
            if st.button(
                f"{name}: {plain(value)}", icon=":material/close:", key=f"chip-{name}", help="Remove this filter"
            ):
                clear(name)
        if len(on) > 1 and st.button("Clear all", type="tertiary", key="chip-all"):
            clear(*on)


def clear(*names: str) -> None:
    """Take filters off; figures and tables forget what was selected in them."""
    ui.put(**dict.fromkeys(names))
    st.session_state["cleared"] = st.session_state.get("cleared", 0) + 1
    st.rerun()


def questions_table(run: Run, rows: pd.DataFrame, total: int, unanswerable: int, key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left_out = f" · {unanswerable} unanswerable are not ranked" if unanswerable else ""
        st.markdown(f"**{len(rows)} of {ui.counted(total, 'question')}**, the worst first{left_out}", width="stretch")
        st.session_state["outcome-filter"] = ui.first_of((st.query_params.get("outcome"),), OUTCOMES)
        st.segmented_control(
            "Outcome", OUTCOMES, key="outcome-filter", required=True, label_visibility="collapsed",
            on_change=lambda: ui.put(outcome=st.session_state["outcome-filter"]),
        )  # fmt: skip
        st.session_state["find-filter"] = st.query_params.get("find", "")
        with st.container(width=220):
            st.text_input(
                "Find", key="find-filter", placeholder="Find in questions", label_visibility="collapsed",
                on_change=lambda: ui.put(find=st.session_state["find-filter"] or None),
            )  # fmt: skip
        ui.csv_button(rows, f"{run.name}-questions.csv", "questions-csv")
    table = f"asked-{key}"

    def opened() -> None:
        ui.put(question=ui.selected(st.session_state[table], list(rows["Id"])))

    columns = {
        "Rank": st.column_config.NumberColumn(help="Of the first gold chunk; empty when missed.", width="small"),
        "Question": st.column_config.TextColumn(width="large"),
        "Document": st.column_config.TextColumn(width="medium"),
        f"Recall@{int(st.session_state['k-shown'])}": st.column_config.ProgressColumn(
            min_value=0, max_value=1, format="%.2f"
        ),
    }
    ui.table(rows, table, columns=columns, on_select=opened, height=420, alt="Questions, the worst first", empty="–")


# One question


def opened_question(run: Run, question: Question, found: Retrieved, summary: Summary, shown: Sequence[str]) -> None:
    place = shown.index(question.id) if question.id in shown else None
    crumbs = [*run_crumbs(run), ("results", run.name, {"run": run.name, "k": str(summary.k)})]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            ui.breadcrumb(crumbs)
        walk(shown, place)
    ui.header(question.text)
    row = summary.question_ids.index(question.id) if question.id in summary.question_ids else None
    if row is not None:
        numbers(summary, row)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown("**Answer**")
        st.html(highlighted(question.answer or "(no answer given)", language=question.language))
        if question.evidence:
            st.html(legend([("gold", "evidence"), ("hit", f"kept: in the first {summary.k} chunks")]))
            ui.evidence_groups(run.corpus_id, question, found, k=summary.k)
        else:
            st.caption("Unanswerable: the documents hold no evidence, so nothing can be found.")
        st.caption(f"{question.kind} · made by {plain(question.generator)} · id {plain(question.id)}")
    with right:
        st.markdown(f"**Ranking** by {run.config.retriever}")
        st.html(legend([("gold", "evidence")]))
        ui.ranked_chunks(run.corpus_id, question, found, k=summary.k, first=max(summary.k + 2, 5), key=run.id)
    ui.from_the_top(question.id)


def walk(shown: Sequence[str], place: int | None) -> None:
    """Back to all of them, and through them, with the arrow keys too."""
    before = shown[place - 1] if place else None
    after = shown[place + 1] if place is not None and place + 1 < len(shown) else None
    if place is not None:
        st.caption(f"{place + 1} of {len(shown)}", width="content")
    if st.button("Previous", icon=":material/arrow_back:", shortcut="left", disabled=before is None):
        ui.put(question=before)
        st.rerun()
    if st.button("Next", icon=":material/arrow_forward:", shortcut="right", disabled=after is None):
        ui.put(question=after)
        st.rerun()
    if st.button("All questions", shortcut="esc"):
        clear("question")


def numbers(summary: Summary, row: int) -> None:
    rank, k = int(summary.ranks[row]), summary.k
    with ui.tiles():
        ui.tile("Rank of the target ↓", f"{rank}" if rank else "missed", f"among the first {summary.depth}")
        for name in (f"recall@{k}", f"precision@{k}", f"ndcg@{k}"):
            metric = METRICS[name.split("@")[0]]
            title, explained = metric.title.replace("@k", f"@{k}"), metric.explanation
            ui.tile(f"{title} ↑", f"{summary.scores[name][row]:.2f}", "0 to 1", explained=explained)


# The page


def run_crumbs(run: Run) -> list[tuple[str, str, dict[str, str]]]:
    index = run.provenance["index"]
    return [("documents", corpus.name, {"corpus": corpus.name}), ("index", index, {"index": index})]


def downloads(run: Run) -> None:
    """The classic three files, one by one or together."""
    with st.popover("Download"):
        for name in ("dataset.csv", "answers.csv", "evaluation.csv"):
            st.download_button(
                name, lambda name=name: pipeline.export_run(workspace, run)[name], f"{run.name}-{name}", "text/csv",
                key=f"download-{name}", on_click="ignore",
            )  # fmt: skip
        st.download_button(
            "All three (zip)", lambda: zipped(run), f"{run.name}.zip", "application/zip", on_click="ignore"
        )


def zipped(run: Run) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in pipeline.export_run(workspace, run).items():
            archive.writestr(name, data)
    return held.getvalue()


def settings_line(run: Run) -> str:
    config, cut = run.config, run.provenance["index_config"]
    return (
        f"{config.retriever} over {cut['chunker']} {cut['chunk_size']}, overlap {cut['overlap']}, {cut['embedder']}, "
        f"{cut['backend']} · questions {run.provenance['questions']} · depth {config.depth} · {ui.ago(run.created)}"
    )


corpus = ui.need_corpus()
runs = [run for run in store.runs(corpus.id) if run.status == "done"]
if not runs:
    ui.header("Results", "Where retrieval loses.")
    with ui.nothing(f"No run of {plain(corpus.name)} is done yet."):
        ui.link("run", "Make a run")
    st.stop()
name = ui.chosen("run", [run.name for run in runs], noun="run")
run = next(run for run in runs if run.name == name)
k = ui.chosen_number("k", 1, run.config.depth, run.config.k)
st.session_state["k-shown"] = k
summary = ui.summary(run, k)
asked = ui.answered(store.address, run.id, run.finished)
documents = ui.documents_of(store.address, run.id, run.finished)
rows = question_rows(summary, asked, documents) if summary.n else pd.DataFrame()
shown = filtered(rows, documents) if summary.n else rows
key = f"{run.id}-{st.session_state.get('cleared', 0)}"
wanted = st.query_params.get("question")
if wanted in asked:
    opened_question(run, *asked[wanted], summary, list(shown["Id"]) if summary.n else [])
    st.stop()
if wanted:
    st.warning(f"This run did not ask the question “{plain(wanted)}”.")
with ui.header("Results", settings_line(run), crumbs=run_crumbs(run)):
    with st.container(width=240):
        ui.choose("Run", [run.name for run in runs], "run")
    with st.container(width=110):
        st.number_input(
            "k", 1, run.config.depth, key="k-shown", help="Chunks kept. Any k can be looked at: nothing is run again.",
            on_change=lambda: ui.put(k=st.session_state["k-shown"]),
        )  # fmt: skip
    downloads(run)
if not summary.n:
    st.markdown("None of the questions of this run has evidence, so nothing can be ranked.")
    st.stop()
with ui.errors_shown():
    tiles(summary)
pictures(summary, key)
chips(len(shown))
left, right = st.columns(2, gap="medium")
with left, ui.errors_shown():
    documents_table(run, summary, key)
with right, ui.errors_shown():
    metrics_table(summary)
questions_table(run, shown, len(rows), summary.unanswerable, key)
