"""The questions of a run: the filters of the address, rows and their order, the table, the way to a case and on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from ragviz.analysis import abstention, diagnose, evaluate, outcomes
from ragviz.core.configuration import Run
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import shown_in
from ragviz.questions.question_types import STYLES, TYPES
from ragviz.runs import judgements, measurements, rescue_words
from ragviz.text.former_documents import is_among
from ragviz.ui import address, cache, wording
from ragviz.ui.kit import filters, heading, table


def rank_words(pair: tuple[int, ...] | None) -> str | None:
    """Return the ranks of a clicked bar as the parameter `rank` writes them.

    >>> rank_words((2, 2)), rank_words((21, 30)), rank_words((0, 0)), rank_words(None)
    ('2', '21-30', 'miss', None)
    """
    if pair is None or len(pair) != 2:
        return None
    low, high = pair
    return "miss" if not low else str(low) if low == high else f"{low}-{high}"


def rank_pair(words: str | None, depth: int) -> tuple[int, int] | None:
    """Parse the parameter `rank` for rankings of `depth`; None for anything that `rank_words` does not write.

    >>> [rank_pair(words, 30) for words in ("2", "21-30", "miss")]
    [(2, 2), (21, 30), (0, 0)]
    >>> [rank_pair(words, 30) for words in ("0", "31", "5-2", "2-", "x", None)]
    [None, None, None, None, None, None]
    """
    if words == "miss":
        return 0, 0
    low, dash, high = (words or "").partition("-")
    first, last = (address.number_within(1, depth)(text) for text in (low, high if dash else low))
    return (first, last) if first is not None and last is not None and first <= last else None


FILTERS = ("rank", "document", "kind", "type", "style", "outcome", "cause", "rescued", "broken", "find")
"""Parameters of the address that filter the questions of a run."""
BECAME = ("rank", "outcome", "cause", "rescued", "broken")
"""Filters by what became of a question: one of them may contradict another."""
PAGE = 1_000
"""Questions on a page of the list: 10,000 are 2 MB for a browser."""
ANCHOR = "questions-shown"
CASE = "inspect"
NOTHING = "nothing"
"""Value of the filter `rescued` for the lost questions that no change rescues."""


def metric_of(run: Run) -> str:
    """Return the metric that orders the questions: the address's, else the run's first; "" without any."""
    metrics = cache.overview(run).judgement.metrics
    requested = st.query_params.get("metric", "")
    first = next((name for name in shown_in("sort") if name in metrics), next(iter(metrics), ""))
    return requested if requested in metrics else first


def question_rows(run: Run, k: int) -> pd.DataFrame:
    """Return one row a question, in the order of `diagnose.worst_first`, by the metric of `metric_of`.

    A run that does not answer has only its ranked questions here. Shared by all sessions, so never to be changed.
    """
    return _question_rows(run, k, metric_of(run))


@cache.kept(32, also=lambda run, *_: (run.corpus_id,))
def _question_rows(run: Run, k: int, metric: str) -> pd.DataFrame:
    measured, questions, documents = cache.summary(run, k), cache.questions(run), cache.documents_of(run)
    column = cache.overview(run).answers[metric] if metric else None
    scores = column.known if column else {}
    ids = list(questions) if run.knows.answers else list(measured.question_ids)
    places = {question_id: place for place, question_id in enumerate(measured.question_ids)}
    ranks = [int(measured.ranks[places[i]]) if i in places else None for i in ids]
    recall = measured.scores.get(f"recall@{k}")
    kinds = [""] * len(ids) if measurements.unranked_words(run) else [questions[i].kind for i in ids]
    outcome_keys = [outcomes.outcome_of(rank, k, kind) for rank, kind in zip(ranks, kinds, strict=True)]
    titles = {outcome: outcomes.title(outcome, k, run.config.depth) for outcome in outcomes.OUTCOMES}
    rows = pd.DataFrame({"Question": [questions[i].text for i in ids]})
    rows["Rank"] = pd.array([rank or None for rank in ranks], dtype="Int64")
    rows["Outcome"] = [titles[outcome] for outcome in outcome_keys]
    causes = cache.causes(run, k)
    meanings = {cause: cause_title(run, k, cause) for cause in set(causes.values())}
    rows["Cause"] = [meanings[causes[i]] if i in causes else "" for i in ids]
    rows["Document"] = [", ".join(documents[i]) for i in ids]
    rows[f"Recall@{k}"] = [float(recall[places[i]]) if recall is not None and i in places else None for i in ids]
    rows["Evidence in"] = [questions[i].kind for i in ids]
    rows["Id"] = ids
    if column:
        title, statuses = ANSWER_METRICS[metric].title, cache.overview(run).judgement.statuses
        rows.insert(1, title, pd.Series([scores.get(i) for i in ids], dtype=float))
        words = [abstention.STATUSES[statuses[i]] if i in statuses else "not yet answered" for i in ids]
        failed = column.of_status("judge_error")
        said = [f"{word}, judge error" if i in failed else word for i, word in zip(ids, words, strict=True)]
        rows.insert(len(rows.columns) - 4, "Answer", said)
    for title, named in (("Type", [questions[i].type for i in ids]), ("Style", [questions[i].style for i in ids])):
        if any(named):
            rows.insert(len(rows.columns) - 1, title, named)
    order = diagnose.worst_first(
        ids,
        causes,
        scores,
        dict(zip(ids, ranks, strict=True)),
        higher_is_better=not metric or ANSWER_METRICS[metric].higher_is_better,
    )
    return rows.set_index(pd.Index(ids)).loc[order].reset_index(drop=True)


def cause_title(run: Run, k: int, cause: str) -> str:
    """Return what a cause is called of a run whose first `k` chunks are kept."""
    return judgements.meaning_of(run, cause, k).title


def filtered(run: Run, rows: pd.DataFrame, k: int) -> pd.DataFrame:
    """Return the rows of `question_rows` at `k` that pass every filter of the address."""
    documents, depth = cache.documents_of(run), run.config.depth

    def known(name: str) -> str | None:  # a document of the corpus, or one that the run's evidence was in
        exists = cache.workspace().store.documents.find(run.corpus_id, name) is not None
        return name if exists or any(is_among(name, names) for names in documents.values()) else None

    kept, ids = pd.Series(True, index=rows.index), rows["Id"]
    if pair := address.readable("rank", partial(rank_pair, depth=depth), f"miss, a rank up to {depth:,}, or as 4-10"):
        missed = rows["Outcome"] == outcomes.title("missed", k, depth)
        kept &= missed if pair == (0, 0) else rows["Rank"].between(*pair).fillna(False)
    if name := address.readable("document", known, "a document of this corpus"):
        kept &= ids.map(lambda i: is_among(name, documents[i])).astype(bool)
    titles = {outcomes.title(outcome, k, depth): outcome for outcome in outcomes.RANKED}
    parts: dict[str, tuple[pd.Series[str] | None, Collection[str]]] = {
        "kind": (rows["Evidence in"], evaluate.KINDS),
        "type": (rows.get("Type"), TYPES),
        "style": (rows.get("Style"), STYLES),
        "outcome": (rows["Outcome"].map(titles), outcomes.RANKED),
        "cause": (ids.map(dict(cache.causes(run, k))), diagnose.CAUSES),
    }
    for part, (values, names) in parts.items():
        if value := address.readable(part, address.one_of(names), f"one of {', '.join(names)}"):
            kept &= False if values is None else values == value
    for change in ("rescued", "broken"):
        of = address.readable(change, partial(_changed_ids, run, k, change), "a change that was tried at this k")
        if of is not None:
            kept &= ids.isin(of)
    if words := st.query_params.get("find", "").casefold():
        kept &= rows["Question"].str.casefold().str.contains(words, regex=False)
    address.readable(
        "metric", address.one_of(cache.overview(run).judgement.metrics), "an answer metric of this run"
    )  # `metric_of` orders by it
    return rows[kept]


def _changed_ids(run: Run, k: int, name: str, key: str) -> frozenset[str] | None:
    if measurements.unranked_words(run):
        return None
    rescue, ids = cache.rescue(run, k), cache.summary(run, k).question_ids
    row = next((row for row in rescue.rows if row.replay.key == key), None)
    if row is None and (name, key) != ("rescued", NOTHING):
        return None
    chosen = rescue.unrescued if row is None else row.rescued if name == "rescued" else row.broken
    return frozenset(ids[place] for place in chosen.nonzero()[0])


def filter_words(run: Run, k: int, name: str, value: str) -> str:
    """Return the value of a filter as its chip shows it; a rank "miss" is evidence that was not found to the depth."""
    if name in ("kind", "type", "style"):
        return evaluate.PART_TITLES[name].get(value, value)
    if name == "cause" and value in diagnose.CAUSES:
        return cause_title(run, k, value)
    if name == "outcome" or (name == "rank" and value == "miss"):
        return outcomes.title("missed" if value == "miss" else value, k, run.config.depth)
    if name in ("rescued", "broken"):
        if value == NOTHING:
            return "by nothing that was tried"
        return f"by {rescue_words.title(cache.replay_columns(run), value)}"
    return value


def active_filters() -> dict[str, str]:
    """Return the filters of the address, by name."""
    return {name: st.query_params[name] for name in FILTERS if st.query_params.get(name)}


def list_clicked(name: str, value: str | None) -> None:
    """List the questions with the `value` that was clicked of the filter `name`, one of `BECAME`; a second click, all.

    Filters by document, kind and words stay.
    """
    if value is None or value == st.query_params.get(name):
        address.put(**{name: None})
        return
    if any(st.query_params.get(each) for each in BECAME if each != name):
        forget_selections()
    address.put(**dict.fromkeys(BECAME) | {name: value})


def forget_selections() -> None:
    """Let figures and tables lose their selections: what they selected is no longer a filter."""
    st.session_state["cleared"] = st.session_state.get("cleared", 0) + 1


def filter_parameters() -> dict[str, str]:
    """Return the parameters that filter and order the questions: a link with them shows the same list."""
    metric = st.query_params.get("metric")
    return active_filters() | ({"metric": metric} if metric else {})


# The list


def draw(run: Run, rows: pd.DataFrame, total: int, k: int, left_out: str, key: str) -> None:
    """Draw the list of `rows`, those of `total` questions that pass the filters; `left_out` says which never do."""
    st.html(f"<span id='{ANCHOR}'></span>")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="list-head"):
        with st.container(width="content"):
            heading.section("Questions")
        words = (
            f"**{len(rows):,} of {wording.counted(total, 'question')}**, the worst first: by stage of loss, then score"
        )
        st.markdown(f"{words}{f' · {left_out}' if left_out else ''}", width="stretch")
    active = active_filters()
    said = {name: filter_words(run, k, name, value) for name, value in active.items()}
    filters.chips(said, f"{wording.counted(len(rows), 'question')} with", clear)
    above = table.row_above("asked")
    with above:
        filters.find("find", "Find in questions", width=180)
    if not len(rows):
        st.caption("No question passes these filters.")
    else:
        first, end = table.page(len(rows), PAGE, "listed")

        unknown = () if run.knows.ranking else ("Rank", "Outcome", "Document", f"Recall@{k}")
        repeated = ("Evidence in", "Type", "Style", "Outcome" if run.knows.answers else "Cause")
        shown = rows[first:end].drop(columns=[*unknown, *repeated], errors="ignore")
        rank = "By which a chunk of every passage that the question needs has come; empty when one has none."
        columns = {"Question": 350, "Answer": 80, "Cause": 150, "Outcome": 120, "Document": 180, "Id": 80}
        columns |= {"Rank": table.number(50, help=rank), f"Recall@{k}": table.bar()}
        if metric := metric_of(run):
            columns[ANSWER_METRICS[metric].title] = table.bar(125)
        table.draw(
            shown, "asked", alt="Questions, the worst first", above=above, file=f"{run.name}-questions",
            columns=columns, among=list(shown["Id"]), turn=key, most=8, empty="–",
            opened=lambda question_id: st.session_state.update({"open-question": question_id}),
        )  # fmt: skip
    came_from = address.arrived_from()
    heading.follow(ANCHOR, active, run.id, came_from=came_from, returns=came_from == CASE)


def open_case(run: Run, question_id: str, k: int, **parameters: str | None) -> None:
    """Open a question's case; on the way back, the list is in view."""
    address.go_to(CASE, run=run.name, question=question_id, k=k, **parameters, **filter_parameters())


def clear(*names: str) -> None:
    """Remove filters; the figures and tables lose their selection."""
    address.put(**dict.fromkeys(names))
    forget_selections()


def walk(shown: Sequence[str], question_id: str) -> str | None:
    """Draw *Previous* and *Next* in a list of questions, with the arrow keys too; return the question chosen."""
    place = shown.index(question_id) if question_id in shown else None
    previous_id = shown[place - 1] if place else None
    next_id = shown[place + 1] if place is not None and place + 1 < len(shown) else None
    if place is not None:
        st.caption(f"{place + 1} of {len(shown)}", width="content")
    to_previous = st.button("Previous", shortcut="left", disabled=previous_id is None)
    to_next = st.button("Next", shortcut="right", disabled=next_id is None)
    return previous_id if to_previous else next_id if to_next else None
