"""A case is one question of a run with its ranking, answer, scores and cause: as a record, as JSON, and in files.

    results.csv, results.jsonl   a row a question: reference, answer, cause, rank, hits, every score with its reason
    qa_dataset.csv               the questions, with evidence: imported, it gives the same questions
    qa_dataset_answers.csv       a row a question: reference, chunks, document, and the run's answer

A spreadsheet's cell holds 32,767 characters, so the texts of the hits are in results.jsonl only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragviz.analysis import outcomes
from ragviz.analysis.evaluate import Summary
from ragviz.core.document import Chunk
from ragviz.core.question import Question
from ragviz.core.ranking import Hit, Retrieved
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.questions.formats.own import QA, qa_row
from ragviz.questions.interchange import COLUMNS, csv_of, documents_of, question_row
from ragviz.text.former_documents import is_among, unmarked


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a run.

    `rank` is the one by which its evidence is found (see `analysis/outcomes.py`), None when it is not found, and for a
    question without evidence; `ranking` are the metrics of its ranking, empty where it is not ranked, and `scores`
    those of its answer. `hits` are the first k, `chunks` their texts and those of the answer's context, by id, where
    their document still exists; `judged` is whether they support the whole reference, of those with pooled verdicts.
    `cause` is a key of `diagnose.CAUSES`, "" for a question that an interrupted run did
    not reach, and where none can be told (see `diagnose.cause`); `evaluated` is None where nothing was answered or
    judged.
    """

    question: Question
    documents: tuple[str, ...]
    outcome: outcomes.Outcome
    cause: str
    rank: int | None
    ranking: Mapping[str, float]
    hits: tuple[Hit, ...]
    gold: frozenset[str]
    chunks: Mapping[str, Chunk]
    evaluated: EvaluatedAnswer | None
    scores: Mapping[str, Score]
    judged: Mapping[str, bool]

    @property
    def answer(self) -> tuple[str, str, str]:
        """Text and status of the answer, and the reason why there is none; all empty for a run without answers."""
        answer = self.evaluated.recording if self.evaluated else None
        return (answer.answer, answer.status, answer.reason) if answer and answer.has_answer else ("", "", "")

    def reason(self, score: Score) -> str:
        """Why there is no score, or the judge's reason for it."""
        if score.status != "ok":
            return f"{score.status}: {score.reason}"
        return self.evaluated.equivalence_reason if self.evaluated and score.metric == "equivalence" else score.reason


def cases(
    summary: Summary,
    questions: Sequence[Question],
    results: Sequence[Retrieved],
    names: Mapping[str, str],
    *,
    chunks: Mapping[str, Chunk],
    evaluated: Mapping[str, EvaluatedAnswer],
    scores: Mapping[str, Mapping[str, Score]],
    causes: Mapping[str, str],
    judged: Mapping[str, Mapping[str, bool]],
) -> list[Case]:
    """Return the case of each question of a run with a result, in the order of `questions`.

    `names` are those of the documents by id; `evaluated`, `causes` and `judged` are by question id, `scores` by metric
    and question id.
    """
    places = {question_id: row for row, question_id in enumerate(summary.question_ids)}
    by_id = {result.question_id: result for result in results}
    found = []
    for question in questions:
        if (result := by_id.get(question.id)) is None:
            continue
        place = places.get(question.id)
        rank = None if place is None else int(summary.ranks[place])
        found.append(
            Case(
                question,
                tuple(documents_of(question, names)),
                outcomes.outcome_of(rank, summary.k, question.kind),
                causes.get(question.id, ""),
                rank or None,
                {} if place is None else {name: float(column[place]) for name, column in summary.scores.items()},
                tuple(result.ranking.hits()[: summary.k]),
                frozenset(chunk_id for group in result.gold for chunk_id in group),
                chunks,
                evaluated.get(question.id),
                {name: of[question.id] for name, of in scores.items() if question.id in of},
                judged.get(question.id, {}),
            )
        )
    return found


def chosen(
    all_cases: Iterable[Case],
    *,
    outcome: str = "",
    cause: str = "",
    kind: str = "",
    document: str = "",
    find: str = "",
) -> list[Case]:
    """Return the cases that pass every filter; `find` searches question, reference and answer, ignoring case."""
    words = find.casefold()
    return [
        case
        for case in all_cases
        if outcome in ("", case.outcome)
        and cause in ("", case.cause)
        and kind in ("", case.question.kind)
        and (not document or is_among(document, case.documents))
        and any(words in text.casefold() for text in (case.question.text, case.question.answer, case.answer[0]))
    ]


def to_json(case: Case, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a case as JSON; where `rank` is null, `outcome` says why."""
    text, status, reason = case.answer
    answer = {"text": text, "status": status, "reason": reason} if status else None
    return {
        "question_id": case.question.id,
        "question": case.question.text,
        "kind": case.question.kind,
        "type": case.question.type,
        "style": case.question.style,
        "documents": case.documents,
        "evidence": question_row(case.question, names)["evidence"],
        "reference_answer": case.question.answer,
        "answer": answer | {"citations": case.evaluated.recording.citations} if answer and case.evaluated else None,
        "outcome": case.outcome,
        "cause": case.cause,
        "rank": case.rank,
        "hits": [
            _hit(case, hit, names) | {"text": chunk.text if chunk else None}
            for hit, chunk in [(hit, case.chunks.get(hit.chunk_id)) for hit in case.hits]
        ],
        "metrics": case.ranking,
        "scores": {name: asdict(score) | {"reason": case.reason(score)} for name, score in case.scores.items()},
        "imported_scores": case.evaluated.scores_of_maker if case.evaluated else {},
    }


def row(case: Case) -> dict[str, Any]:
    """Return a case by columns: what was asked, what became of it, its ranking's metrics, and scores with reasons."""
    question, (answer, status, why) = case.question, case.answer
    cells = {
        "question_id": question.id,
        "question": question.text,
        "kind": question.kind,
        "type": question.type,
        "style": question.style,
        "document": ", ".join(case.documents),
        "reference_answer": question.answer,
        "answer": answer,
        "answer_status": status,
        "answer_reason": why,
        "cause": case.cause,
        "rank": case.rank,
        **case.ranking,
    }
    for name, score in case.scores.items():
        cells |= {name: score.value, f"{name}_reason": case.reason(score)}
    return cells


def _hit(case: Case, hit: Hit, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "score": float(hit.score),
        "gold": hit.chunk_id in case.gold,
        "supports_reference": case.judged.get(hit.chunk_id),
        "document": document_of(hit.chunk_id, names) or "",
        "chunk_id": hit.chunk_id,
    }


def document_of(chunk_id: str, names: Mapping[str, str]) -> str | None:
    """Return the name of the document that a chunk is of, None when it is not known."""
    place = Chunk.parse_id(chunk_id)
    return names.get(place[0]) if place else None


_OF_CASE = (
    "question_id", "question", "kind", "type", "style", "document", "reference_answer",
    "answer", "answer_status", "answer_reason", "cause", "rank", "hits",
)  # fmt: skip

# The files: each function takes cases, the names of documents by id, and the experiment that chose the configuration on
# these questions, which files with scores name in a last column that others lack


def _lines(run_cases: Sequence[Case], names: Mapping[str, str], chosen_by: str) -> bytes:
    label = {"chosen_by": chosen_by} if chosen_by else {}
    lines = [json.dumps(to_json(case, names) | label, ensure_ascii=False) + "\n" for case in run_cases]
    return "".join(lines).encode("utf-8", "replace")


def _results(run_cases: Sequence[Case], names: Mapping[str, str], chosen_by: str) -> bytes:
    rows, of_ranking, of_answer = [], dict[str, None](), dict[str, None]()
    for case in run_cases:
        cells = row(case)
        cells["rank"] = case.rank or ("miss" if case.outcome == "missed" else case.outcome)
        rows.append(cells | {"hits": [_hit(case, hit, names) for hit in case.hits], "chosen_by": chosen_by})
        of_ranking |= dict.fromkeys(case.ranking)
        of_answer |= {column: None for name in case.scores for column in (name, f"{name}_reason")}
    columns = [*_OF_CASE, *of_ranking, *of_answer, *(["chosen_by"] if chosen_by else [])]
    return csv_of(columns, ([cells.get(column) for column in columns] for cells in rows))


def _dataset(run_cases: Sequence[Case], names: Mapping[str, str], _: str) -> bytes:
    """Write questions as an import reads them; `chunk_id` names every chunk once, `evidence` groups them."""
    rest = [column for column in COLUMNS if column not in (*QA, "answer")]
    rows = []
    files = {document_id: unmarked(name) for document_id, name in names.items()}  # which an import looks for
    for case in run_cases:
        row = question_row(case.question, files)
        row["chunk_id"] = ", ".join(dict.fromkeys(case.question.source_chunks or sorted(case.gold)))
        row["ground_truth_answer"] = row["answer"]
        rows.append([row[column] for column in (*QA, *rest)])
    return csv_of((*QA, *rest), rows)


def _qa_answers(run_cases: Sequence[Case], names: Mapping[str, str], _: str) -> bytes:
    rows = [[*qa_row(case.question, names), *case.answer] for case in run_cases]
    return csv_of((*QA, "answer", "answer_status", "answer_reason"), rows)


FILES: Mapping[str, Callable[[Sequence[Case], Mapping[str, str], str], bytes]] = {
    "results.csv": _results,
    "results.jsonl": _lines,
    "qa_dataset.csv": _dataset,
    "qa_dataset_answers.csv": _qa_answers,
}
"""The files of a run's cases by name."""
