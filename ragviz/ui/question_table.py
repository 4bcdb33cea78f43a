"""The table of a run's questions: its rows, filters and order, and the walk from one question to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from ragviz.analysis import diagnose, evaluate
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import shown_in
from ragviz.records import Run, Score
from ragviz.runs import judgements, measurements
from ragviz.ui import address, cache, wording


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


def rank_cell(rank: int) -> str:
    """Return a rank as a cell shows it; 0 is a miss."""
    return str(rank) if rank else "missed"


def outcome_of(rank: int, k: int) -> str:
    """Return the outcome of a question from the rank of its first gold chunk.

    >>> [outcome_of(rank, 3) for rank in (0, 3, 4)]
    ['missed', 'found', 'below k']
    """
    return "missed" if not rank else "found" if rank <= k else "below k"


FILTERS = ("rank", "document", "kind", "outcome", "cause", "find")
"""Parameters of the address that filter the questions of a run."""
STATUSES = {
    "ok": "scored", "not_applicable": "not applicable", "no_answer": "no answer", "judge_error": "judge error",
    "skipped": "skipped",
}  # fmt: skip
"""Status of a score → its name on the pages."""


def without_words(statuses: Mapping[str, int]) -> str:
    """Return how many questions have no score of a metric, and why; "" when all have one.

    >>> without_words({"ok": 4, "judge_error": 3, "not_applicable": 2})
    '3 judge errors, 2 not applicable'
    """
    counts = [(status, n) for status, n in statuses.items() if status != "ok" and n]
    return ", ".join(
        wording.counted(n, "judge error") if s == "judge_error" else f"{n} {STATUSES[s]}" for s, n in counts
    )


def answers(run: Run) -> bool:
    """Return whether a run answers its questions."""
    return run.config.answerer != "none"


def metric_of(run: Run) -> str:
    """Return the metric that orders the questions: the address's, else the run's first; "" without any."""
    scores = cache.judgement(run).scores
    requested = st.query_params.get("metric", "")
    first = next((name for name in shown_in("sort") if name in scores), next(iter(scores), ""))
    return requested if requested in scores else first


def question_rows(run: Run, k: int) -> pd.DataFrame:
    """Return one row a question, the worst first: by score where answers were judged (unscored last), else by rank.

    A run that does not answer has only its ranked questions here.
    """
    measured, judgement = cache.summary(run, k), cache.judgement(run)
    retrievals = cache.retrievals(run)
    documents = cache.documents_of(run)
    ids = list(retrievals) if answers(run) else list(measured.question_ids)
    places = {question_id: place for place, question_id in enumerate(measured.question_ids)}
    ranks = [int(measured.ranks[places[i]]) if i in places else None for i in ids]
    recall = measured.scores.get(f"recall@{k}")
    unranked = "not ranked" if measurements.unranked_words(run) else "unanswerable"
    outcomes = [unranked if rank is None else outcome_of(rank, k) for rank in ranks]
    rows = pd.DataFrame({"Rank": pd.array([rank or None for rank in ranks], dtype="Int64"), "Outcome": outcomes})
    rows["Cause"] = [diagnose.about(judgement.causes[i], run.config.context).title for i in ids]
    rows["Question"] = [retrievals[i][0].text for i in ids]
    rows["Document"] = [", ".join(documents[i]) for i in ids]
    rows[f"Recall@{k}"] = [float(recall[places[i]]) if recall is not None and i in places else None for i in ids]
    rows["Kind"] = [retrievals[i][0].kind for i in ids]
    rows["Id"] = ids
    return _worst_first(rows, run, judgement)


def _worst_first(rows: pd.DataFrame, run: Run, judgement: judgements.Judgement) -> pd.DataFrame:
    rows = rows.sort_values("Rank", ascending=False, na_position="first", kind="stable")
    if not (name := metric_of(run)):
        return rows
    title = ANSWER_METRICS[name].title
    scores = [judgement.scores[name].get(question_id) for question_id in rows["Id"]]
    rows.insert(0, title, [None if score is None else score.value for score in scores])
    rows[title] = rows[title].astype(float)
    rows.insert(1, "Answer", [_answer_words(judgement, i, score) for i, score in zip(rows["Id"], scores, strict=True)])
    ascending = ANSWER_METRICS[name].higher_is_better
    return rows.sort_values(title, ascending=ascending, na_position="last", kind="stable")


def _answer_words(judgement: judgements.Judgement, question_id: str, score: Score | None) -> str:
    """Return the status of an answer, and whether its judge failed."""
    evaluated = judgement.evaluated.get(question_id)
    status = evaluated.answer.status if evaluated is not None else "not yet answered"
    failed = score is not None and score.status == "judge_error"
    return f"{status}, judge error" if failed else status


def filtered(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that pass every filter of the address."""
    documents = cache.documents_of(run)
    ranks = partial(rank_pair, depth=run.config.depth)
    if pair := address.readable("rank", ranks, f"miss, a rank up to {run.config.depth:,}, or a range as in 4-10"):
        missed = rows["Outcome"] == "missed"
        rows = rows[missed if pair == (0, 0) else rows["Rank"].between(*pair).fillna(False)]
    if name := address.readable("document", partial(_document_of, run), "a document of this corpus"):
        rows = rows[_mask(rows, (name in documents[i] for i in rows["Id"]))]
    if kind := address.readable("kind", address.one_of(evaluate.KINDS), f"one of {', '.join(evaluate.KINDS)}"):
        rows = rows[rows["Kind"] == kind]
    outcome = address.readable("outcome", address.one_of(OUTCOMES), f"one of {', '.join(OUTCOMES)}") or OUTCOMES[0]
    if outcome != OUTCOMES[0]:
        rows = rows[rows["Outcome"] == outcome]
    if cause := address.readable("cause", address.one_of(diagnose.CAUSES), f"one of {', '.join(diagnose.CAUSES)}"):
        rows = rows[_mask(rows, (cache.judgement(run).causes[i] == cause for i in rows["Id"]))]
    if words := st.query_params.get("find", "").casefold():
        rows = rows[_mask(rows, (words in text.casefold() for text in rows["Question"]))]
    address.readable(
        "metric", address.one_of(cache.judgement(run).scores), "an answer metric of this run"
    )  # `metric_of` orders by it
    return rows


def _document_of(run: Run, name: str) -> str | None:
    """Return `name` if it is a document of the corpus, or one that the run's evidence was in."""
    exists = cache.workspace().store.document_named(run.corpus_id, name) is not None
    return name if exists or any(name in names for names in cache.documents_of(run).values()) else None


def _mask(rows: pd.DataFrame, keeps: Iterable[bool]) -> pd.Series[bool]:
    """Return which rows to keep; a bare list would select columns where there are no rows."""
    return pd.Series(list(keeps), index=rows.index, dtype=bool)


KINDS = {"single": "one passage", "multi": "several passages", "unanswerable": "unanswerable"}
"""Kind of a question → its name on the pages."""
OUTCOMES = ("all", "found", "below k", "missed")
"""The options of the outcome filter."""


def filter_parameters() -> dict[str, str]:
    """Return the parameters that filter and order the questions: a link with them shows the same list."""
    filters = {name: st.query_params[name] for name in (*FILTERS, "metric") if st.query_params.get(name)}
    return {name: value for name, value in filters.items() if value != "all"}


def walk(shown: Sequence[str], question_id: str) -> str | None:
    """Draw *Previous* and *Next* in a list of questions, with the arrow keys too; return the question chosen."""
    place = shown.index(question_id) if question_id in shown else None
    previous_id = shown[place - 1] if place else None
    next_id = shown[place + 1] if place is not None and place + 1 < len(shown) else None
    if place is not None:
        st.caption(f"{place + 1} of {len(shown)}", width="content")
    to_previous = st.button("Previous", icon=":material/arrow_back:", shortcut="left", disabled=previous_id is None)
    to_next = st.button("Next", icon=":material/arrow_forward:", shortcut="right", disabled=next_id is None)
    return previous_id if to_previous else next_id if to_next else None
