"""Runs of what other systems said: logged items are stored as recordings, wherever they come from.

A `Recorder` stores them as they arrive, in any order; `import_run` hands it those of a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from ragviz import __version__
from ragviz.core.call import Call
from ragviz.core.chunk import Chunk
from ragviz.core.configuration import RunConfig
from ragviz.core.digests import digest
from ragviz.core.document import Corpus, Document
from ragviz.core.errors import UsageError
from ragviz.core.progress import Progress, silent
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import AnswerStatus, Context, Knows, Recording
from ragviz.core.run_info import Run
from ragviz.core.span import Span
from ragviz.core.verdict import EvaluatedAnswer, Matrix
from ragviz.index import chunking
from ragviz.metrics import answers as answer_metrics
from ragviz.runs import overviews, running
from ragviz.targets.logged_item import Log, LoggedItem
from ragviz.text import language
from ragviz.text.denial import abstains
from ragviz.text.normal_form import normal_form
from ragviz.workspace import Workspace

LONGEST_SHOWN = 200
"""Characters of another program's name for a passage that are kept in ours."""
BATCH = 300
"""Items of a file that are stored together."""


def import_run(
    workspace: Workspace,
    corpus: Corpus,
    name: str,
    log: Log,
    question_set: QuestionSet | None = None,
    progress: Progress = silent,
) -> Run:
    """Store what a file holds as a run of `corpus`; asks no model.

    Passages that stand in no document belong to the run. The run has the metrics that the file's texts and verdicts
    allow; `running.judge` adds others. An interrupted import resumes when the same file is imported under the same
    name; one that fails or is cancelled leaves nothing.

    Raises:
        UsageError: the name is blank or taken, or no item is of a question of `question_set`.

    """
    content = digest(*(repr(each) for each in log.items))
    recorder = Recorder(workspace, corpus, name, content, origin=log.origin, question_set=question_set)
    try:
        new = [each for each in log.items if each.id not in recorder.done]
        for start in range(0, len(new), BATCH):
            progress(len(log.items) - len(new) + start, len(log.items), "items", "Storing what was said")
            recorder.put(new[start : start + BATCH])
        return recorder.finish(progress)
    except BaseException:
        recorder.delete()
        raise


class Recorder:
    """Stores what another system said as a run, item by item, in any order; not for several threads at once.

    `content` is a digest of what makes the run: one that was interrupted under this name with the same is resumed, with
    `again` also one that is done; `done` are the ids of the questions that it has. An item replaces one whose id was
    taken from there. `target` is the run's, `origin` the name of the program or system.
    Items are of the questions of `question_set`, by id, else by text; those of none are left out, as `problems` tell.
    Without a set, one of the run's name is made of them.
    """

    def __init__(
        self,
        workspace: Workspace,
        corpus: Corpus,
        name: str,
        content: str,
        *,
        origin: str,
        target: str = "file",
        question_set: QuestionSet | None = None,
        again: bool = False,
    ) -> None:
        """Create the run, or open the interrupted one.

        Raises:
            UsageError: the name is blank or taken; the set is of another corpus.

        """
        if question_set is not None and question_set.corpus_id != corpus.id:
            raise UsageError(f"Question set '{question_set.name}' is of another corpus: choose one of '{corpus.name}'.")
        self._workspace, self._store, self._origin = workspace, workspace.store, origin
        self._asked = (
            [each for each in self._store.questions.all(question_set.id) if each.asked] if question_set else []
        )
        fingerprint = digest(content, question_set.id if question_set else "")
        existing, expected = self._store.runs.find(name), (corpus.id, fingerprint)
        same = existing is not None and (existing.corpus_id, existing.fingerprint) == expected
        if existing is not None and same and (again or existing.status == "running"):
            self.run = existing
            self._store.runs.set_status(existing.id, "running")
        else:
            self.run = self._new(corpus, name, fingerprint, target, question_set)
        self._joined = question_set is not None
        self._places = {question.id: place for place, question in enumerate(self._asked)}
        self._by_id = {question.id: question for question in self._asked}
        texts = Counter(normal_form(question.text) for question in self._asked)
        self._by_text = {text: question for question in self._asked if texts[text := normal_form(question.text)] == 1}
        self._new_ids = set[str]()
        self._passages: dict[str, Chunk] = {}
        self.problems: list[str] = []
        told = self._store.judgements.failed(self.run.id)
        self.done = {each for each in self._store.rankings.question_ids(self.run.id) if each in told}

    def _new(self, corpus: Corpus, name: str, fingerprint: str, target: str, question_set: QuestionSet | None) -> Run:
        """Create the run; and its question set, unless there is one, which an interrupted import may have left."""
        sets = self._store.sets
        left = None if question_set else sets.find(name)
        resumed = left is not None and left.corpus_id == corpus.id and not left.total
        own = question_set or (left if left is not None and resumed else sets.add(corpus.id, name))
        provenance: dict[str, Any] = {
            "identity": {"answers": fingerprint, "corpus": "", "questions": "", "metrics": ""},
            "index_config": {},
            "index": "imported",
            "questions": own.name,
            "ragviz": __version__,
            "n": 0,
            "target": target,
            "knows": {"ranking": False, "first_k": False, "again": False, "opaque": True},
        }
        try:
            return self._store.runs.add(
                name, corpus.id, RunConfig("", own.id, "imported", depth=1, k=1), fingerprint, provenance
            )
        except UsageError:
            if question_set is None and not resumed:
                sets.delete(own.id)
            raise

    def put(self, items: Sequence[LoggedItem]) -> None:
        """Store items; one of a question that is stored already, or of none of the set, is left out and told."""
        asked = [(item, question) for item in items if (question := self._question_of(item)) is not None]
        stored = [self._stored(item, question) for item, question in asked]
        self._store.rankings.replace(
            self.run.id,
            [
                (self._places.setdefault(each.question.id, len(self._places)), each.question, retrieved)
                for retrieved, each in stored
            ],
        )
        self._store.judgements.put(self.run.id, [(each, ()) for _, each in stored])

    def _question_of(self, item: LoggedItem) -> Question | None:
        """Return the question of an item; None where there is none, or another item of it came before."""
        question = self._by_id.get(item.id) or self._by_text.get(normal_form(item.question))
        if self._joined and question is None:
            self.problems.append(f"'{item.id}' is no question of the set, by id or by text: it is left out.")
            return None
        question = question or _question(item)
        if question.id in self._new_ids:
            self.problems.append(f"'{item.id}' is a second item of question '{question.id}': it is left out.")
        if question.id in self.done:
            return None
        self.done.add(question.id)
        self._new_ids.add(question.id)
        return question

    def _stored(self, item: LoggedItem, question: Question) -> tuple[Retrieved, EvaluatedAnswer]:
        """Store the passages of an item; return its ranking, and its recording with the verdicts that came with it."""
        chunks = self._chunks(item)
        matrix = item.matrix or Matrix()
        if not self._joined:
            useful = matrix.useful or (False,) * len(chunks)
            supporting = [chunk for chunk, is_useful in zip(chunks, useful, strict=True) if is_useful]
            spans = [Span(chunk.document_id, 0, chunk.end, chunk.text) for chunk in supporting]
            question = replace(question, evidence=(tuple(spans) or (Span("", 0, 0, item.reference, stale=True),),))
        ids = tuple(chunk.id for chunk in chunks)
        scores = [passage.score for passage in item.contexts]
        known = [score for score in scores if score is not None]
        in_order = len(known) == len(scores) and known == sorted(known, reverse=True)
        ranking = Ranking(ids, tuple(known) if in_order else tuple(1 / rank for rank in range(1, len(ids) + 1)))
        contexts = [
            replace(Context.of(chunk), score=passage.score)
            for chunk, passage in zip(chunks, item.contexts, strict=True)
        ]
        recording = _recording(item, question.id, tuple(contexts), self._origin)
        evaluated = EvaluatedAnswer(question, recording, replace(matrix, chunks=ids), given=_given(item.matrix))
        evaluated = replace(evaluated, verdicts={self._origin: dict(item.scores)} if item.scores else {})
        return Retrieved(question.id, ranking, ()), evaluated

    def _chunks(self, item: LoggedItem) -> list[Chunk]:
        """Return the places of an item's contexts; those that stand in no document are stored as passages."""
        chunks: dict[str, Chunk] = {}
        new = []
        for place, passage in enumerate(item.contexts):
            chunk = self._passages.get(passage.text)
            if chunk is None or chunk.id in chunks:
                shown = passage.id[:LONGEST_SHOWN] or str(place)
                document = _document(f"{self.run.name}/{item.id}-{shown}.txt", passage.text)
                chunk = chunking.cut_out(document, 0, len(passage.text), 0)
                if chunk.id in chunks:
                    document = _document(f"{self.run.name}/{item.id}-{shown}-{place}.txt", passage.text)
                    chunk = chunking.cut_out(document, 0, len(passage.text), 0)
                self._passages.setdefault(passage.text, chunk)
                new.append(document)
            chunks[chunk.id] = chunk
        self._store.documents.add_passages(self.run.corpus_id, new)
        return [*chunks.values()]

    def finish(self, progress: Progress = silent) -> Run:
        """Measure what was stored, and mark the run as done.

        Raises:
            UsageError: nothing was stored.

        """
        run, store = self.run, self._store
        if not self.done:
            raise UsageError(f"Nothing is stored in run '{run.name}'. {' '.join(self.problems[:3])}")
        questions = store.rankings.questions(run.id)
        if not self._joined:
            store.questions.put(run.config.questions, questions)
        evaluated = [*store.judgements.all(run.id).values()]
        depth = max(1, *(len(each.recording.contexts) for each in evaluated))
        knows = Knows(
            ranking=False,
            contexts=any(each.recording.contexts for each in evaluated),
            answers=any(each.recording.has_answer for each in evaluated),
            reference=any(question.answer.strip() for question in questions),
            first_k=False,
            again=False,
            opaque=True,
        )
        store.runs.note(run.id, knows=asdict(knows), n=len(questions), problems=self.problems)
        names = answer_metrics.with_values(evaluated, knows)
        config = replace(
            run.config, depth=depth, k=depth, answerer="imported" if knows.answers else "none", metrics=names
        )
        run = store.runs.configure(run.id, config, run.fingerprint)
        running.score(self._workspace, run)
        overviews.finish(self._workspace, run)
        return store.runs.get(run.id)

    def delete(self) -> None:
        """Delete the run with all that was stored of it."""
        self._store.runs.delete(self.run.id)
        if not self._joined:
            self._store.sets.delete(self.run.config.questions)


def _question(item: LoggedItem) -> Question:
    """Return an item as a question without evidence."""
    lang = language.of_short(item.question, language.detect("\n".join(each.text for each in item.contexts)))
    return Question(
        item.id, item.question, item.reference, (), "import", "accepted", language=lang, history=item.history
    )


def _recording(item: LoggedItem, question_id: str, contexts: tuple[Context, ...], origin: str) -> Recording:
    said, told = item.answer or "", (item.prompt_tokens, item.completion_tokens, item.cost)
    status: AnswerStatus = "answered"
    if item.answer is None and not item.error:
        status = "none"
    elif item.error or not said.strip():
        status = "failed"
    elif abstains(said) if item.abstained is None else item.abstained:
        status = "refused"
    usage = None
    if any(value is not None for value in told):
        tokens = item.prompt_tokens or 0, item.completion_tokens or 0
        usage = Call("answer", origin, "", *tokens, item.seconds or 0.0, item.cost, cached=False, raw="")
    return Recording(
        question_id,
        contexts,
        said,
        status,
        (item.error or "the response is empty in the imported file") if status == "failed" else "",
        usage=usage,
        seconds=item.seconds,
        origin=origin,
    )


def _given(matrix: Matrix | None) -> tuple[str, ...]:
    """Return the steps of which a file holds all verdicts."""
    if matrix is None or matrix.answer_claims is None or matrix.reference_claims is None:
        return ()
    by_chunk = matrix.answer_by_chunk is not None and matrix.reference_by_chunk is not None
    compared = matrix.answer_by_reference is not None and matrix.reference_by_answer is not None
    return ("reference", "claims", *(["context"] if by_chunk else []), *(["comparison"] if compared else []))


def _document(name: str, text: str) -> Document:
    data = text.encode("utf-8", "surrogatepass")
    document_id = Document.make_id(name, text)
    return Document(document_id, name, text, (), language.detect(text), "text/plain", digest(data), len(data))
