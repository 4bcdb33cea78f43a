"""Questions without a model: chosen among all that can be made of the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ragviz.core.digests import digest
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.stopping import Progress
from ragviz.generation import rejection
from ragviz.generation.candidates import Candidate, Corpus, candidates
from ragviz.generation.choosing import Choice, chosen
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.makers import size
from ragviz.generation.plan import Cell
from ragviz.generation.plan_record import PlanRecord, documents_of
from ragviz.questions.question_types import TYPES
from ragviz.text.counts import counted

NAME = "extractive"
"""What the questions name as their generator."""


class ExtractiveMaker:
    """Makes questions of the headings, tables, lists, pairs, terms and sentences of documents; rules verify them."""

    def __init__(self, documents: IndexedDocuments, seed: int, progress: Progress) -> None:
        """Read all documents for what can be asked; `chosen` are the questions to be made, in their styles."""
        self._documents, self._seed = documents, seed
        self._candidates: dict[str, list[Candidate]] = {}
        self.chosen: list[tuple[Choice, QuestionStyle]] = []
        corpus, found = Corpus(documents.by_id.values()), 0
        for done, (document_id, document) in enumerate(documents.by_id.items()):
            progress(done, len(documents.by_id), "documents", f"Finding questions, {found:,} so far: {document.name}")
            self._candidates[document_id] = candidates(document, corpus)
            found += len(self._candidates[document_id])

    def choose(
        self,
        limit: int,
        most: Mapping[QuestionType, int],
        styles: Mapping[QuestionStyle, int],
        *,
        first: Collection[str] = (),
        existing: Sequence[Question] = (),
    ) -> list[Cell]:
        """Choose the questions to be made, and return their cells.

        `most` are the types with the most of each; those whose id is in `first` exist already, and stay; none is
        another question that exists, or has its words.
        """
        styles_able: tuple[QuestionStyle, ...] = ("colleague", "keywords")
        others, texts = {q.id for q in existing} - {*first}, {rejection.normal(q.query) for q in existing if q.text}
        free, kept = list[Candidate](), dict[str, QuestionStyle]()
        for each in (each for found in self._candidates.values() for each in found):
            choice = Choice(each, each.phrasings[0])
            ids = {self._id(choice, style): style for style in styles_able}
            if own := next(filter(first.__contains__, ids), ""):
                kept[choice.key] = ids[own]
            if own or others.isdisjoint(ids):
                free.append(each)
        characters = {outline.document_id: outline.characters for outline in self._documents.outlines}
        picked = chosen(free, limit, characters, most=most, first=kept.keys(), seed=self._seed, taken=texts)
        keywords = round(len(picked) * styles.get("keywords", 0) / (sum(styles.values()) or 1))
        able = sorted(
            (each for each in picked if each.candidate.keywords), key=lambda each: digest(str(self._seed), each.key)
        )
        as_keywords = {each.key for each in able[:keywords]}
        as_keywords |= {each.key for each in picked if each.candidate.language not in ("en", "zh")}
        self.chosen = [
            (each, kept.get(each.key, "keywords" if each.key in as_keywords else "colleague")) for each in picked
        ]
        counts = Counter(self._cell(*each) for each in self.chosen)
        return [Cell(c.document_id, c.section, c.type, c.style, count) for c, count in counts.items()]

    def _id(self, choice: Choice, style: QuestionStyle) -> str:
        return digest("question", NAME, str(self._seed), choice.key, style)

    def _cell(self, choice: Choice, style: QuestionStyle) -> Cell:
        place = choice.candidate.place
        section = self._documents.section_of(place.document_id, place.start)
        return Cell(place.document_id, section, choice.candidate.type, style)

    def make(self, record: PlanRecord, existing: Sequence[Question]) -> list[Question]:
        """Make what was chosen and the record lacks, count it, and return the new questions."""
        texts, made = {rejection.normal(q.query) for q in existing if q.text}, list[Question]()
        rows = {replace(row.cell, planned=1): number for number, row in enumerate(record.rows)}
        for each in self.chosen:
            question, number = self._question(*each), rows[self._cell(*each)]
            if (place := record.places.get(question.id)) is not None:  # maybe counted for another cell of its type
                record.rows[place].made -= 1
                record.count(question.id, number)
                continue
            if rejection.normal(question.query) in texts:
                record.rows[number].reasons["asked already"] += 1
                continue
            texts.add(rejection.normal(question.query))
            record.count(question.id, number)
            record.yielded(question.type).count(question)
            made.append(question)
        about = {i for question in [*existing, *made] if question.status != "rejected" for i in documents_of(question)}
        planned = {row.cell.document_id for row in record.rows}
        record.nothing = {i: self._holds(i) for i in self._documents.by_id if i in {*planned, *self.unable} - about}
        record.state = "done"
        return made

    def _question(self, choice: Choice, style: QuestionStyle) -> Question:
        candidate = choice.candidate
        text = candidate.keywords if style == "keywords" else choice.phrasing.text
        return Question(
            self._id(choice, style), text[0].upper() + text[1:], candidate.answer, candidate.evidence, NAME,
            language=candidate.language, source_chunks=self._documents.holding(candidate.evidence),
            type=candidate.type, style=style,
        )  # fmt: skip

    def _holds(self, document_id: str) -> str:
        """Say which questions could be made of a document, or that none could."""
        counts = Counter(each.type for each in self._candidates.get(document_id, ()))
        if not counts:
            return (
                "it has no heading, table, list, definition or sentence with a number or a name that gives a clear "
                f"question without a model ({size(self._documents.by_id[document_id])})"
            )
        listed = ", ".join(f"{counts[asked]:,} {TYPES[asked].title}" for asked in TYPES if counts[asked])
        yielded = counted(counts.total(), "question")
        return f"it yields {yielded} ({listed}); none was chosen, or all were asked before"

    @property
    def unable(self) -> list[str]:
        """The ids of the documents with text of which no question can be made."""
        texts = {outline.document_id for outline in self._documents.outlines if outline.characters}
        return [i for i in self._documents.by_id if i in texts and not self._candidates.get(i)]
