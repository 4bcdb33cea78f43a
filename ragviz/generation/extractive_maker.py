"""Questions without a model: chosen among all that can be made of the documents, made, and verified by rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ragviz.core.digests import digest
from ragviz.core.progress import Progress
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.generation import rejection, verified_by_rules
from ragviz.generation.asked_places import AskedPlaces
from ragviz.generation.candidates import Candidate, Corpus, candidates
from ragviz.generation.choosing import Choice, chosen
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.makers import size
from ragviz.generation.plan import Cell
from ragviz.generation.plan_record import PlanRecord, documents_of, kind_of_reason
from ragviz.generation.verification import Contexts
from ragviz.questions.question_types import TYPES

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
        texts: Collection[str] = (),
        asked: AskedPlaces | None = None,
    ) -> list[Cell]:
        """Choose the questions to be made, and return their cells.

        `most` are the types with the most of each; those whose id is in `first` exist already, and stay; none has the
        words of another question that exists (`texts`, normal), or asks about a place that is `asked` about.
        """
        everything = [each for found in self._candidates.values() for each in found]
        free = [
            each for each in everything if asked is None or not asked.hold(s for group in each.evidence for s in group)
        ]
        known = {self._id(Choice(each, each.phrasings[0]), style): Choice(each, each.phrasings[0]).key
                 for each in free for style in ("colleague", "keywords")}  # fmt: skip
        kept = {known[question_id] for question_id in first if question_id in known}
        characters = {outline.document_id: outline.characters for outline in self._documents.outlines}
        picked = chosen(free, limit, characters, most=most, first=kept, seed=self._seed, taken=texts)
        keywords = round(len(picked) * styles.get("keywords", 0) / (sum(styles.values()) or 1))
        able = sorted(
            (each for each in picked if each.candidate.keywords), key=lambda each: digest(str(self._seed), each.key)
        )
        as_keywords = {each.key for each in able[:keywords]}
        as_keywords |= {each.key for each in picked if each.candidate.language not in ("en", "zh")}
        self.chosen = [(each, "keywords" if each.key in as_keywords else "colleague") for each in picked]
        counts = Counter(self._cell(*each) for each in self.chosen)
        return [Cell(c.document_id, c.section, c.type, c.style, count) for c, count in counts.items()]

    def _id(self, choice: Choice, style: QuestionStyle) -> str:
        return digest("question", NAME, str(self._seed), choice.key, style)

    def _cell(self, choice: Choice, style: QuestionStyle) -> Cell:
        place = choice.candidate.place
        section = self._documents.section_of(place.document_id, place.start)
        return Cell(place.document_id, section, choice.candidate.type, style)

    def make(
        self, record: PlanRecord, existing: Sequence[Question], contexts: Contexts | None, progress: Progress
    ) -> list[Question]:
        """Make what was chosen and the record lacks, and count it; without `contexts`, verify nothing.

        What a cell lacks because its questions were rejected is made elsewhere: of what was chosen and nobody needs.
        Returns what is to be stored: the new questions, and those that are verified only now.
        """
        known = {question.id: question for question in existing}
        refused = {q.id for q in existing if q.status == "rejected" and q.reason and q.generator == NAME}
        texts = {rejection.normal(q.query) for q in existing if q.text and q.id not in refused}
        rejected = {rejection.normal(q.query) for q in existing if q.text and q.status == "rejected"}
        made = list(_verified_again(record, known, contexts))
        left = [each for each in self.chosen if self._id(*each) not in record.places]
        for is_own in (True, False):
            while due := self._due(record, left, is_own=is_own):
                fresh = dict[str, int]()
                for number, question in due:
                    if question.id in known:
                        _count(record, number, known[question.id])
                    elif rejection.normal(question.text) in texts:
                        record.rows[number].reasons["asked already"] += 1
                    else:
                        texts.add(rejection.normal(question.text))
                        fresh[question.id] = number
                questions = [question for _, question in due if question.id in fresh]
                for question in verified_by_rules.verify(questions, contexts) if contexts else questions:
                    progress(record.usable, record.planned, "questions", question.text)
                    _count(record, fresh[question.id], question)
                    if question.status == "proposed" or rejection.normal(question.text) not in rejected:
                        record.yielded(question.type).count(question)
                        made.append(question)
        about = {i for question in [*existing, *made] if question.status != "rejected" for i in documents_of(question)}
        planned = {row.cell.document_id for row in record.rows}
        record.nothing = {i: self._holds(i) for i in self._documents.by_id if i in {*planned, *self.unable} - about}
        record.state = "done"
        return made

    def _due(
        self, record: PlanRecord, left: list[tuple[Choice, QuestionStyle]], *, is_own: bool
    ) -> list[tuple[int, Question]]:
        """Take from what is left what rows lack, with their numbers: of their own cell, else of their type, or any."""
        lacking = {number: row.missing for number, row in enumerate(record.rows) if row.missing}
        due = list[tuple[int, Question]]()
        for each in list(left):
            cell = self._cell(*each)
            for number in lacking:
                own = record.rows[number].cell
                same = replace(own, planned=1) == cell if is_own else record.any_type or own.type == cell.type
                if same and lacking[number]:
                    lacking[number] -= 1
                    left.remove(each)
                    due.append((number, self._question(*each)))
                    break
        return due

    def _question(self, choice: Choice, style: QuestionStyle) -> Question:
        candidate = choice.candidate
        text = candidate.keywords if style == "keywords" else choice.phrasing.text
        return Question(
            self._id(choice, style), text[0].upper() + text[1:], candidate.answer, candidate.evidence, NAME,
            language=candidate.language, source_chunks=self._documents.holding(candidate.evidence),
            type=candidate.type, style=style,
        )  # fmt: skip

    def _holds(self, document_id: str) -> str:
        """Say what a document holds that questions could be made of."""
        counts = Counter(each.type for each in self._candidates.get(document_id, ()))
        if not counts:
            return f"holds nothing that can be asked about alone: {size(self._documents.by_id[document_id])}"
        listed = ", ".join(f"{counts[asked]:,} {TYPES[asked].title}" for asked in TYPES if counts[asked])
        return f"yields {counts.total():,} {'question' if counts.total() == 1 else 'questions'} ({listed})"

    @property
    def unable(self) -> list[str]:
        """The ids of the documents with text of which no question can be made."""
        texts = {outline.document_id for outline in self._documents.outlines if outline.characters}
        return [i for i in self._documents.by_id if i in texts and not self._candidates.get(i)]


def _count(record: PlanRecord, number: int, question: Question) -> None:
    """Count a question that a row asked for."""
    if question.status == "rejected":
        record.rows[number].reasons[kind_of_reason(question.reason)] += 1
    else:
        record.count(question.id, number, question.type)


def _verified_again(record: PlanRecord, known: Mapping[str, Question], contexts: Contexts | None) -> Iterator[Question]:
    """Yield what was kept though its verification failed, and is verified now."""
    again = [q for i in record.places if (q := known.get(i)) and q.asked and not q.verified_by]
    for question in verified_by_rules.verify(again, contexts) if contexts else ():
        if question.status == "rejected":
            record.drop({question.id: question.reason})
        if question != known[question.id]:
            yield question
