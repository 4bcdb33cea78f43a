"""A case is one question of a run with all that became of it: as records, JSON, and the files a person takes away.

    results.csv, results.jsonl   a row a question: reference, answer, cause, rank, hits, every score with its reason
    dataset.csv                  the questions, with evidence: imported, it gives the same questions
    answers.csv                  a row a hit, with its text; a question without any has one row
    evaluation.csv               a row a question: rank and scores
    metrics.csv                  every mean, over all questions, per kind and per document, with n and interval, and
                                 how the judge did on control items

A spreadsheet's cell takes 32,767 characters: so the texts of the hits are in answers.csv and results.jsonl only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ragviz.analysis.evaluate import Slice, Summary
from ragviz.judging.controls import Controls
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.questions.interchange import COLUMNS, csv_of, documents_of, question_row
from ragviz.records import Chunk, EvaluatedAnswer, Hit, Question, Retrieved, Score

Outcome = Literal["found", "below k", "missed", "unanswerable", "not ranked"]
OUTCOMES: tuple[Outcome, ...] = ("found", "below k", "missed", "unanswerable", "not ranked")


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a run.

    `rank` is that of its first gold chunk, None for a miss and for a question without evidence; `ranking` are the
    metrics of its ranking, empty where it is not ranked, and `scores` those of its answer. `hits` are the first k,
    `chunks` their texts by id where their document is still there. `cause` is a key of `diagnose.CAUSES`, "" for a
    question
    that a stopped run did not reach; `judged` is None where nothing was answered or judged.
    """

    question: Question
    documents: tuple[str, ...]
    outcome: Outcome
    cause: str
    rank: int | None
    ranking: Mapping[str, float]
    hits: tuple[Hit, ...]
    gold: frozenset[str]
    chunks: Mapping[str, Chunk]
    judged: EvaluatedAnswer | None
    scores: Mapping[str, Score]

    @property
    def rank_cell(self) -> int | str:
        """The rank, or the word that tells why there is none."""
        return self.rank or ("miss" if self.outcome == "missed" else self.outcome)

    @property
    def answer(self) -> tuple[str, str, str]:
        """Text and status of the answer, and why there is none; all empty for a run that does not answer."""
        given = self.judged.answer if self.judged else None
        return (given.text, given.status, given.reason) if given and given.answerer != "none" else ("", "", "")

    def reason(self, score: Score) -> str:
        """Why there is no score, or what the judge gave as its reason."""
        if score.status != "ok":
            return f"{score.status}: {score.reason}"
        return self.judged.equivalence_reason if self.judged and score.metric == "equivalence" else score.reason


def cases(
    summary: Summary,
    questions: Sequence[Question],
    results: Sequence[Retrieved],
    names: Mapping[str, str],
    *,
    chunks: Mapping[str, Chunk] | None = None,
    judged: Mapping[str, EvaluatedAnswer] | None = None,
    scores: Mapping[str, Mapping[str, Score]] | None = None,
    causes: Mapping[str, str] | None = None,
) -> list[Case]:
    """Put together what is known of each question of a run, in the order in which they were asked.

    `names` are documents' by id; `judged` and `causes` are by question id, `scores` by metric and question id.
    """
    places = {question_id: row for row, question_id in enumerate(summary.question_ids)}
    found = {result.question_id: result for result in results}
    return [
        _case(
            question,
            found[question.id],
            summary,
            places.get(question.id),
            documents=tuple(documents_of(question, names)),
            cause=(causes or {}).get(question.id, ""),
            chunks=chunks or {},
            judged=(judged or {}).get(question.id),
            scores={name: known[question.id] for name, known in (scores or {}).items() if question.id in known},
        )
        for question in questions
        if question.id in found
    ]


def _case(question: Question, result: Retrieved, summary: Summary, place: int | None, **known: Any) -> Case:
    rank = 0 if place is None else int(summary.ranks[place])
    outcome: Outcome = "missed" if not rank else "found" if rank <= summary.k else "below k"
    if place is None:
        outcome = "unanswerable" if question.kind == "unanswerable" else "not ranked"
    return Case(
        question=question,
        outcome=outcome,
        rank=rank or None,
        ranking={} if place is None else {name: float(column[place]) for name, column in summary.scores.items()},
        hits=tuple(result.ranking.hits()[: summary.k]),
        gold=frozenset(chunk_id for group in result.gold for chunk_id in group),
        **known,
    )


def chosen(
    found: Iterable[Case],
    *,
    outcome: str = "",
    cause: str = "",
    kind: str = "",
    document: str = "",
    find: str = "",
) -> list[Case]:
    """Keep the cases that pass every filter given; `find` looks into question, reference and answer, in any case."""
    words = find.casefold()
    return [
        case
        for case in found
        if outcome in ("", case.outcome)
        and cause in ("", case.cause)
        and kind in ("", case.question.kind)
        and (not document or document in case.documents)
        and any(words in text.casefold() for text in (case.question.text, case.question.answer, case.answer[0]))
    ]


def to_json(case: Case, names: Mapping[str, str]) -> dict[str, Any]:
    """Give a case as JSON; `rank` is null where there is none, and `outcome` tells why."""
    text, status, reason = case.answer
    given = {"text": text, "status": status, "reason": reason} if status else None
    return {
        "question_id": case.question.id,
        "question": case.question.text,
        "kind": case.question.kind,
        "documents": case.documents,
        "evidence": question_row(case.question, names)["evidence"],
        "reference_answer": case.question.answer,
        "answer": given | {"citations": case.judged.answer.citations} if given and case.judged else None,
        "outcome": case.outcome,
        "cause": case.cause,
        "rank": case.rank,
        "hits": [_hit(case, hit, names) | {"text": _text(case, hit)} for hit in case.hits],
        "metrics": case.ranking,
        "scores": {name: asdict(score) | {"reason": case.reason(score)} for name, score in case.scores.items()},
    }


def _hit(case: Case, hit: Hit, names: Mapping[str, str]) -> dict[str, Any]:
    place = Chunk.parse_id(hit.chunk_id)
    return {
        "rank": hit.rank,
        "score": float(hit.score),
        "gold": hit.chunk_id in case.gold,
        "document": names.get(place[0], "") if place else "",
        "chunk_id": hit.chunk_id,
    }


def _text(case: Case, hit: Hit) -> str | None:
    chunk = case.chunks.get(hit.chunk_id)
    return chunk.text if chunk else None


# The files


def files(
    found: Sequence[Case], slices: Sequence[Slice], names: Mapping[str, str], controls: Controls | None = None
) -> dict[str, bytes]:
    """Write a run's cases and means as files, by file name; `controls` tell how far its judge can be relied on."""
    lines = [json.dumps(to_json(case, names), ensure_ascii=False) + "\n" for case in found]
    return {
        "results.csv": _results(found, names),
        "results.jsonl": "".join(lines).encode("utf-8", "replace"),
        "dataset.csv": _dataset(found, names),
        "answers.csv": _answers(found, names),
        "evaluation.csv": _evaluation(found),
        "metrics.csv": _metrics(slices, controls),
    }


def _results(found: Sequence[Case], names: Mapping[str, str]) -> bytes:
    asked = ("question_id", "question", "kind", "document", "reference_answer")
    told = ("answer", "answer_status", "answer_reason", "cause", "rank", "hits")
    rows = []
    for case in found:
        q, hits = case.question, [_hit(case, hit, names) for hit in case.hits]
        documents = ", ".join(case.documents)
        rows.append([q.id, q.text, q.kind, documents, q.answer, *case.answer, case.cause, case.rank_cell, hits])
    return _scored((*asked, *told), rows, found)


def _evaluation(found: Sequence[Case]) -> bytes:
    header = ("question_id", "question", "rank", "kind", "cause")
    rows = [[c.question.id, c.question.text, c.rank_cell, c.question.kind, c.cause] for c in found]
    return _scored(header, rows, found)


def _scored(header: Sequence[str], rows: Sequence[Sequence[Any]], found: Sequence[Case]) -> bytes:
    """`rows` with every score; after each of an answer's the reason, of which it begins with the status."""
    ranking = list(dict.fromkeys(name for case in found for name in case.ranking))
    names = list(dict.fromkeys(name for case in found for name in case.scores))
    columns = [column for name in names for column in (name, f"{name}_reason")]
    cells = [
        [*row, *(case.ranking.get(name, "") for name in ranking), *(c for name in names for c in _score(case, name))]
        for row, case in zip(rows, found, strict=True)
    ]
    return csv_of((*header, *ranking, *columns), cells)


def _score(case: Case, name: str) -> tuple[float | str, str]:
    score = case.scores.get(name)
    return ("", "") if score is None else ("" if score.value is None else score.value, case.reason(score))


def _dataset(found: Sequence[Case], names: Mapping[str, str]) -> bytes:
    """Questions as an import reads them; `chunk_id` names every chunk once, `evidence` tells which go together."""
    rest = [column for column in COLUMNS if column not in ("id", "question", "answer", "document")]
    rows = []
    for case in found:
        row = question_row(case.question, names)
        row["chunk_id"] = " ".join(dict.fromkeys(case.question.source_chunks or sorted(case.gold)))
        rows.append([row[column] for column in ("id", "question", "answer", "chunk_id", "document", *rest)])
    return csv_of(("id", "question", "answer", "chunk_id", "document", *rest), rows)


def _answers(found: Sequence[Case], names: Mapping[str, str]) -> bytes:
    place_columns = ("question_id", "rank", "chunk_id", "score", "document", "text", "gold")
    told_columns = ("question", "answer", "answer_status", "answer_reason")
    rows: list[list[Any]] = []
    for case in found:
        asked = [case.question.text, *case.answer]
        for hit in case.hits:
            told = _hit(case, hit, names)
            place = [case.question.id, hit.rank, hit.chunk_id, told["score"], told["document"]]
            rows.append([*place, _text(case, hit) or "", "yes" if told["gold"] else "no", *asked])
        if not case.hits:
            rows.append([case.question.id, *[""] * 6, *asked])
    return csv_of((*place_columns, *told_columns), rows)


def _metrics(slices: Sequence[Slice], controls: Controls | None) -> bytes:
    means = ("by", "name", "questions", "misses", "metric", "mean", "low", "high", "n", "without")
    header = (*means, "judge", "judge_accuracy", "judge_reliable")
    by = [controls.judge, controls.accuracy, controls.reliable] if controls else ["", "", ""]
    rows = [
        [part.by, part.name, part.questions, part.misses, name]
        + ["" if number is None else number for number in (e.mean, e.low, e.high)]
        + [e.n, ", ".join(f"{count} {status}" for status, count in scored.statuses.items() if status != "ok")]
        + (by if name in ANSWER_METRICS and ANSWER_METRICS[name].judged else ["", "", ""])
        for part in slices
        for name, scored in part.metrics.items()
        for e in [scored.estimate]
    ]
    return csv_of(header, rows)
