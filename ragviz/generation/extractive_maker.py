"""Questions without a model: chosen among all that can be made of the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ragviz.core.digests import digest
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.stopping import Progress
from ragviz.generation import rejection
from ragviz.generation.candidates import Candidate, Corpus, candidates
from ragviz.generation.choosing import Choice, chosen
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.questions.question_types import STYLES_OF, TYPES
from ragviz.questions.without_model import GENERATOR
from ragviz.text.counts import counted


class ExtractiveMaker:
    """Makes questions of the headings, tables, lists, pairs, terms and sentences of documents."""

    def __init__(self, documents: IndexedDocuments, seed: int, progress: Progress) -> None:
        """Read all documents for what can be asked."""
        self._documents, self._seed = documents, seed
        self._candidates: dict[str, list[Candidate]] = {}
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
    ) -> list[Question]:
        """Return the questions of a set, at most `limit`.

        `most` are the types with the most of each; those whose id is in `first` exist already, and stay; none is
        another question that exists, or has its words.
        """
        others, texts = {q.id for q in existing} - {*first}, {rejection.normal(q.query) for q in existing if q.text}
        free, kept = list[Candidate](), dict[str, QuestionStyle]()
        for candidate in (each for found in self._candidates.values() for each in found):
            choice = Choice(candidate, candidate.phrasings[0])
            ids = {self._id(choice, style): style for style in STYLES_OF[GENERATOR]}
            if own := next(filter(first.__contains__, ids), ""):
                kept[choice.key] = ids[own]
            if own or others.isdisjoint(ids):
                free.append(candidate)
        characters = {outline.document_id: outline.characters for outline in self._documents.outlines}
        picked = chosen(free, limit, characters, most=most, first=kept.keys(), seed=self._seed, taken=texts)
        able = (each for each in picked if each.candidate.keywords)
        drawn = sorted(able, key=lambda each: digest(str(self._seed), each.key))
        share = styles.get("keywords", 0) / (sum(styles.values()) or 1)
        as_keywords = {each.key for each in drawn[: round(len(picked) * share)]}
        as_keywords |= {each.key for each in picked if each.candidate.language not in ("en", "zh")}
        made = dict[str, Question]()
        for each in picked:
            own_style = kept.get(each.key)
            style: QuestionStyle = own_style or ("keywords" if each.key in as_keywords else "colleague")
            candidate = each.candidate
            text = candidate.keywords if style == "keywords" else each.phrasing.text
            question = Question(
                self._id(each, style), text[0].upper() + text[1:], candidate.answer, candidate.evidence, GENERATOR,
                language=candidate.language, source_chunks=self._documents.holding(candidate.evidence),
                type=candidate.type, style=style,
            )  # fmt: skip
            words = rejection.normal(question.query)
            if own_style or words not in texts:
                made[question.id] = question
                texts.add(words)
        return list(made.values())

    def _id(self, choice: Choice, style: QuestionStyle) -> str:
        return digest("question", GENERATOR, str(self._seed), choice.key, style)

    def holds(self, document_id: str) -> str:
        """Say which questions could be made of a document, or that none could."""
        counts = Counter(each.type for each in self._candidates.get(document_id, ()))
        if not counts:
            return (
                "it has no heading, table, list, definition or sentence with a number or a name that gives a clear "
                "question without a model"
            )
        listed = ", ".join(f"{counts[asked]:,} {TYPES[asked].title}" for asked in TYPES if counts[asked])
        yielded = counted(counts.total(), "question")
        return f"it yields {yielded} ({listed}); none was chosen, or all were asked before"

    @property
    def unable(self) -> list[str]:
        """The ids of the documents with text of which no question can be made."""
        texts = [outline.document_id for outline in self._documents.outlines if outline.characters]
        return [document_id for document_id in texts if not self._candidates.get(document_id)]
