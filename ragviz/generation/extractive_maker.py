"""Questions without a model as a maker of a plan's questions: it chooses what can be made, and makes that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence

from ragviz.core.digests import digest
from ragviz.core.progress import Progress
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.generation import rejection, verified_by_rules
from ragviz.generation.asked_places import AskedPlaces
from ragviz.generation.candidates import Candidate, Corpus, candidates
from ragviz.generation.choosing import Choice, chosen
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.makers import Meter, Order, Skipped, Source, size
from ragviz.generation.plan import Cell
from ragviz.generation.verification import Contexts
from ragviz.questions.question_types import TYPES

Made = tuple[Choice, QuestionStyle]


class ExtractiveMaker:
    """Makes questions of the headings, tables, lists, pairs, terms and sentences of documents; rules verify them."""

    name = "extractive"
    attempts: int | None = None

    def __init__(self, documents: IndexedDocuments, seed: int, contexts: Contexts | None = None) -> None:
        """Read nothing yet. Without `contexts` nothing is verified."""
        self._documents, self._seed, self.contexts = documents, seed, contexts
        self._candidates: dict[str, list[Candidate]] = {}
        self._made: dict[tuple[str, QuestionType], list[Source[Made]]] = {}

    def read(self, progress: Progress) -> None:
        """Read all documents for what can be asked."""
        documents = self._documents.by_id
        corpus, found = Corpus(documents.values()), 0
        for done, (document_id, document) in enumerate(documents.items()):
            progress(done, len(documents), "documents", f"Finding questions, {found:,} so far: {document.name}")
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
        self._made = defaultdict(list)
        cells = Counter[Cell]()
        for choice in picked:
            other = choice.candidate.language not in ("en", "zh")
            style: QuestionStyle = "keywords" if other or choice.key in as_keywords else "colleague"
            source = self._source(choice, style)
            self._made[source.document_id, source.asked].append(source)
            cells[Cell(source.document_id, source.section, source.asked, style)] += 1
        return [Cell(c.document_id, c.section, c.type, c.style, count) for c, count in cells.items()]

    def _id(self, choice: Choice, style: QuestionStyle) -> str:
        return digest("question", self.name, str(self._seed), choice.key, style)

    def _source(self, choice: Choice, style: QuestionStyle) -> Source[Made]:
        place, candidate = choice.candidate.place, choice.candidate
        spans = tuple(span for group in candidate.evidence for span in group)
        section = self._documents.section_of(place.document_id, place.start)
        return Source(
            candidate.type,
            f"{choice.key} {style}",
            place.document_id,
            section,
            place.start,
            place.end,
            (choice, style),
            spans,
        )

    def prepare(self, cells: Collection[Cell], progress: Progress) -> None:
        """Read nothing more: all was read to choose."""

    def sources(self, document_id: str, asked: QuestionType) -> Sequence[Source[Made]]:
        """Return what was chosen of a document."""
        return self._made.get((document_id, asked), [])

    def question_id(self, order: Order[Made]) -> str:
        """Return the id of a choice's question."""
        return self._id(*order.source.material)

    def make(self, orders: Sequence[Order[Made]], existing: set[str], meter: Meter) -> Generator[Question | Skipped]:
        """Yield the question of each order; no model is called."""
        made = [self._question(order, existing) for order in orders]
        standing = [each for each in made if isinstance(each, Question)]
        verified = {question.id: question for question in self.verify(standing, meter)}
        yield from (verified.get(each.id, each) if isinstance(each, Question) else each for each in made)

    def _question(self, order: Order[Made], existing: set[str]) -> Question | Skipped:
        choice, style = order.source.material
        candidate = choice.candidate
        text = candidate.keywords if style == "keywords" else choice.phrasing.text
        text = text[0].upper() + text[1:]
        if (normal := rejection.normal(text)) in existing:
            return Skipped("asked already")
        existing.add(normal)
        return Question(
            self.question_id(order), text, candidate.answer, candidate.evidence, self.name, language=candidate.language,
            source_chunks=self._documents.holding(candidate.evidence), type=candidate.type, style=style,
        )  # fmt: skip

    def verify(self, questions: Sequence[Question], meter: Meter) -> Iterator[Question]:
        """Yield the questions, verified by rules."""
        return iter(questions) if self.contexts is None else verified_by_rules.verify(questions, self.contexts)

    def holds(self, document_id: str) -> str:
        """Say what a document holds that questions could be made of."""
        counts = Counter(each.type for each in self._candidates.get(document_id, ()))
        if not counts:
            return f"holds no heading with text, table or definition: {size(self._documents.by_id[document_id])}"
        listed = ", ".join(f"{counts[asked]:,} {TYPES[asked].title}" for asked in TYPES if counts[asked])
        return f"yields {counts.total():,} {'question' if counts.total() == 1 else 'questions'} ({listed})"

    @property
    def unable(self) -> list[str]:
        """The ids of the documents with text of which no question can be made."""
        texts = {outline.document_id for outline in self._documents.outlines if outline.characters}
        return [i for i in self._documents.by_id if i in texts and not self._candidates.get(i)]
