"""The table of a run's questions: its rows, filters and order, and the walk from one question to the next."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from ragviz.analysis import diagnose, evaluate, outcomes
from ragviz.answers import abstention
from ragviz.core.answer import AnswerStatus
from ragviz.core.run_info import Run
from ragviz.core.score import Score
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import shown_in
from ragviz.questions.question_types import STYLES, TYPES
from ragviz.runs import judgements, measurements, rescue_words
from ragviz.text.former_documents import is_among
from ragviz.ui import address, cache
from ragviz.ui.cache import State


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


def rank_cell(rank: int, depth: int) -> str:
    """Return a rank as a cell shows it; 0 is evidence that was not found to `depth`."""
    return str(rank) if rank else outcomes.title("missed", rank, depth).lower()


def score_range(words: str) -> tuple[float, float] | None:
    """Parse the parameter `score`, None for anything but two numbers from 0 to 1 or "none".

    The second is not part of the range, unless it is 1. "none", the questions without a score, is (-1, -1).

    >>> [score_range(words) for words in ("0.2-0.3", "0-1", "none", "0.3-0.2", "0.2", "nan-1", "0-2")]
    [(0.2, 0.3), (0.0, 1.0), (-1.0, -1.0), None, None, None, None]
    """
    if words == "none":
        return -1.0, -1.0
    match = re.fullmatch(r"([01](?:\.[0-9]{1,4})?)-([01](?:\.[0-9]{1,4})?)", words)
    low, high = (float(match[1]), float(match[2])) if match else (1.0, 0.0)
    return (low, high) if low < high <= 1 else None


def score_words(low: float, high: float) -> str:
    """Return a range of scores as the parameter `score` writes it.

    >>> score_words(0.2, 0.3), score_words(0, 1.0)
    ('0.2-0.3', '0-1')
    """
    return f"{low:.4g}-{high:.4g}"


FILTERS = ("rank", "document", "kind", "type", "style", "outcome", "cause", "rescued", "broken", "score", "find")
"""Parameters of the address that filter the questions of a run."""
BECAME = ("rank", "outcome", "cause", "rescued", "broken", "score")
"""Filters by what became of a question: one of them may contradict another."""
NOTHING = "nothing"
"""Value of the filter `rescued` for the lost questions that no change rescues."""


def answers(run: Run) -> bool:
    """Return whether a run answers its questions."""
    return run.config.answerer != "none"


def metric_of(run: Run) -> str:
    """Return the metric that orders the questions: the address's, else the run's first; "" without any."""
    metrics = cache.judgement(run).metrics
    requested = st.query_params.get("metric", "")
    first = next((name for name in shown_in("sort") if name in metrics), next(iter(metrics), ""))
    return requested if requested in metrics else first


def question_rows(run: Run, k: int) -> pd.DataFrame:
    """Return one row a question, in the order of `diagnose.worst_first`, by the metric of `metric_of`.

    A run that does not answer has only its ranked questions here. Shared by all sessions, so never to be changed.
    """
    return _question_rows(cache.state(run.id, run.corpus_id), k, metric_of(run))


@st.cache_resource(show_spinner=False, max_entries=32)
def _question_rows(of: State, k: int, metric: str) -> pd.DataFrame:
    run = cache.workspace().store.run(of.ids[0])
    measured, questions, documents = cache.summary(run, k), cache.questions(run), cache.documents_of(run)
    scores = cache.scores(run, metric) if metric else {}
    ids = list(questions) if answers(run) else list(measured.question_ids)
    places = {question_id: place for place, question_id in enumerate(measured.question_ids)}
    ranks = [int(measured.ranks[places[i]]) if i in places else None for i in ids]
    recall = measured.scores.get(f"recall@{k}")
    kinds = ["" if measurements.unranked_words(run) else questions[i].kind for i in ids]
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
    rows["Kind"] = [questions[i].kind for i in ids]
    rows["Id"] = ids
    if metric:
        _insert_answers(rows, metric, scores, cache.judgement(run).statuses)
    for title, named in (("Type", [questions[i].type for i in ids]), ("Style", [questions[i].style for i in ids])):
        if any(named):
            rows.insert(len(rows.columns) - 1, title, named)
    order = diagnose.worst_first(
        ids,
        causes,
        {question_id: score.value for question_id, score in scores.items()},
        dict(zip(ids, ranks, strict=True)),
        higher_is_better=not metric or ANSWER_METRICS[metric].higher_is_better,
    )
    return rows.set_index(pd.Index(ids)).loc[order].reset_index(drop=True)


def _insert_answers(
    rows: pd.DataFrame, metric: str, scores: Mapping[str, Score], statuses: Mapping[str, AnswerStatus]
) -> None:
    """Insert a metric of the answers, and their status."""
    title = ANSWER_METRICS[metric].title
    in_order = [scores.get(question_id) for question_id in rows["Id"]]
    rows.insert(1, title, [None if score is None else score.value for score in in_order])
    rows[title] = rows[title].astype(float)
    rows.insert(
        len(rows.columns) - 4, "Answer",
        [_answer_words(statuses.get(i), score) for i, score in zip(rows["Id"], in_order, strict=True)],
    )  # fmt: skip


def _answer_words(status: AnswerStatus | None, score: Score | None) -> str:
    """Return the status of an answer, None when there is none yet, and whether its judge failed."""
    words = abstention.STATUSES[status] if status else "not yet answered"
    failed = score is not None and score.status == "judge_error"
    return f"{words}, judge error" if failed else words


def cause_title(run: Run, k: int, cause: str) -> str:
    """Return what a cause is called of a run whose first `k` chunks are kept."""
    return judgements.meaning_of(run, cause, k).title


def score_column(run: Run, k: int) -> str:
    """Return the column that the filter by score reads: the metric that orders the questions, else recall."""
    name = metric_of(run)
    return ANSWER_METRICS[name].title if name else f"Recall@{k}"


def filtered(run: Run, rows: pd.DataFrame, k: int) -> pd.DataFrame:
    """Return the rows of `question_rows` at `k` that pass every filter of the address."""
    ranks = partial(rank_pair, depth=run.config.depth)
    if pair := address.readable("rank", ranks, f"miss, a rank up to {run.config.depth:,}, or a range as in 4-10"):
        missed = rows["Outcome"] == outcomes.title("missed", k, run.config.depth)
        rows = rows[missed if pair == (0, 0) else rows["Rank"].between(*pair).fillna(False)]
    rows = _of_part(run, rows)
    outcome = address.readable("outcome", address.one_of(OUTCOMES), f"one of {', '.join(OUTCOMES)}") or OUTCOMES[0]
    if outcome != OUTCOMES[0]:
        rows = rows[rows["Outcome"] == outcomes.title(outcome, k, run.config.depth)]
    if cause := address.readable("cause", address.one_of(diagnose.CAUSES), f"one of {', '.join(diagnose.CAUSES)}"):
        causes = cache.causes(run, k)
        rows = rows[_mask(rows, (causes.get(i) == cause for i in rows["Id"]))]
    for name in ("rescued", "broken"):
        ids = address.readable(name, partial(_changed_ids, run, k, name), "a change that was tried at this k")
        if ids is not None:
            rows = rows[_mask(rows, (i in ids for i in rows["Id"]))]
    if limits := address.readable("score", score_range, "a range as in 0.2-0.5, or none"):
        rows = rows[_within(rows[score_column(run, k)], *limits)]
    if words := st.query_params.get("find", "").casefold():
        rows = rows[_mask(rows, (words in text.casefold() for text in rows["Question"]))]
    address.readable(
        "metric", address.one_of(cache.judgement(run).metrics), "an answer metric of this run"
    )  # `metric_of` orders by it
    return rows


def _of_part(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the document, kind, type and style of the address."""
    documents = cache.documents_of(run)
    if name := address.readable("document", partial(_document_of, run), "a document of this corpus"):
        rows = rows[_mask(rows, (is_among(name, documents[i]) for i in rows["Id"]))]
    named: dict[str, Collection[str]] = {"kind": evaluate.KINDS, "type": TYPES, "style": STYLES}
    for part, names in named.items():
        column = part.capitalize()
        if value := address.readable(part, address.one_of(names), f"one of {', '.join(names)}"):
            rows = rows[rows[column] == value] if column in rows else rows[:0]
    return rows


def _changed_ids(run: Run, k: int, name: str, key: str) -> frozenset[str] | None:
    """Return the ids of the questions that a change rescues or breaks, None of one that was not tried."""
    if measurements.unranked_words(run):
        return None
    rescue, ids = cache.rescue(run, k), cache.summary(run, k).question_ids
    if name == "rescued" and key == NOTHING:
        chosen = rescue.beyond
    else:
        row = next((row for row in rescue.rows if row.replay.key == key), None)
        if row is None:
            return None
        chosen = row.rescued if name == "rescued" else row.broken
    return frozenset(ids[place] for place in chosen.nonzero()[0])


def _within(scores: pd.Series[float], low: float, high: float) -> pd.Series[bool]:
    """Return which scores are in a range as `score_range` returns it."""
    if low < 0:
        return scores.isna()
    return (scores >= low) & ((scores < high) | ((scores <= high) & (high == 1)))


def _document_of(run: Run, name: str) -> str | None:
    """Return `name` if it is a document of the corpus, or one that the run's evidence was in."""
    exists = cache.workspace().store.document_named(run.corpus_id, name) is not None
    return name if exists or any(is_among(name, names) for names in cache.documents_of(run).values()) else None


def _mask(rows: pd.DataFrame, keeps: Iterable[bool]) -> pd.Series[bool]:
    """Return which rows to keep; a bare list would select columns where there are no rows."""
    return pd.Series(list(keeps), index=rows.index, dtype=bool)


def filter_words(run: Run, k: int, name: str, value: str) -> str:
    """Return the value of a filter as its chip shows it.

    A rank "miss" is evidence that was not found to the depth; a range of scores names its metric.
    """
    if name in ("kind", "type", "style"):
        return evaluate.PART_TITLES[name].get(value, value)  # type: ignore[index]
    if name == "cause" and value in diagnose.CAUSES:
        return cause_title(run, k, value)
    if name == "outcome" or (name == "rank" and value == "miss"):
        return outcomes.title("missed" if value == "miss" else value, k, run.config.depth)
    if name in ("rescued", "broken"):
        if value == NOTHING:
            return "by nothing that was tried"
        return f"by {rescue_words.title(cache.combination(run, k).columns, value)}"
    if name == "score" and (limits := score_range(value)):
        of = score_column(run, k)
        low, high = limits
        ends = f"{low:g} to {'' if high == 1 else 'below '}{high:g}"
        return f"no {of}" if low < 0 else f"{of} {ends}"
    return value


def hidden_columns(run: Run) -> tuple[str, ...]:
    """Return the columns that are not shown until they are chosen: those that repeat another one."""
    return ("Kind", "Type", "Style", "Outcome") if answers(run) else ("Kind", "Type", "Style", "Cause")


OUTCOMES = ("all", *outcomes.RANKED)
"""The options of the outcome filter."""


def active_filters() -> dict[str, str]:
    """Return the filters of the address, by name."""
    filters = {name: st.query_params[name] for name in FILTERS if st.query_params.get(name)}
    return {name: value for name, value in filters.items() if value != "all"}


def list_only(name: str, value: str, **others: str) -> None:
    """List the questions with `value` of the filter `name`, one of `BECAME`, whatever else of these was listed before.

    Filters by document, kind and words stay. `others` are parameters to be set with it.
    """
    if any(st.query_params.get(each) for each in BECAME if each != name):
        forget_selections()
    address.put(**dict.fromkeys(BECAME) | others | {name: value})


def list_clicked(name: str, value: str | None, **others: str) -> None:
    """Filter by what was clicked in a figure, as `list_only`; a second click on the same removes the filter."""
    if value is None or value == st.query_params.get(name):
        address.put(**{name: None})
    else:
        list_only(name, value, **others)


def list_part(part: evaluate.Slice | None) -> None:
    """List the questions of a kind, type, style or document; those of all with None. Other filters stay."""
    address.put(**dict.fromkeys(evaluate.PARTS[1:]) | ({part.by: part.name} if part else {}))


def forget_selections() -> None:
    """Let figures and tables lose their selections: what they selected is no longer a filter."""
    st.session_state["cleared"] = st.session_state.get("cleared", 0) + 1


def filter_parameters() -> dict[str, str]:
    """Return the parameters that filter and order the questions: a link with them shows the same list."""
    metric = st.query_params.get("metric")
    return active_filters() | ({"metric": metric} if metric else {})


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
