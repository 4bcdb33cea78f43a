"""Runs of what other systems said: logged items are stored as recordings, wherever they come from.

A `Recorder` stores them as they arrive, in any order; `import_run` hands it those of a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from ragviz import __version__
from ragviz.core.call import Call
from ragviz.core.configuration import Run, RunConfig
from ragviz.core.digests import digest
from ragviz.core.document import Chunk, Corpus, Document, Evidence, Span
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import AnswerStatus, Context, Found, Knows, Recording
from ragviz.core.stopping import Progress, silent
from ragviz.core.verdict import EvaluatedAnswer, Matrix
from ragviz.index import indexing
from ragviz.metrics import answers as answer_metrics
from ragviz.questions.places import Place, Places
from ragviz.retrieval import gold
from ragviz.runs import choices, contexts, overviews, running
from ragviz.store.schema import corpus_hash, questions_hash
from ragviz.targets.logged_item import Log, LoggedItem, Reading
from ragviz.text import language
from ragviz.text.counts import counted
from ragviz.text.denial import abstains
from ragviz.text.normal_form import normal_form
from ragviz.text.quotes import locate
from ragviz.workspace import Workspace

LONGEST_SHOWN = 200
"""Characters of another program's name for a passage that are kept in ours."""
BATCH = 300
"""Items of a file that are stored together."""
MOST_TOLD = 100
"""Problems of items that are kept with their run."""
_NOWHERE = Span("", 0, 0, stale=True)


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
    content = _content(log)
    recorder = Recorder(
        workspace, corpus, name, content, origin=log.origin, question_set=question_set, progress=progress
    )
    try:
        new = [each for each in log.items if each.id not in recorder.done]
        for start in range(0, len(new), BATCH):
            progress(len(log.items) - len(new) + start, len(log.items), "items", "Storing what was said")
            recorder.put(new[start : start + BATCH])
        return recorder.finish(progress)
    except BaseException:
        recorder.delete()
        raise


def of_system(reading: Reading, system: str) -> Reading:
    """Return a reading with nothing but what it holds of a system, "" for all.

    Raises:
        UsageError: there is no such system.

    """
    logs = [log for log in reading.logs if system in ("", log.system)]
    if not logs:
        known = ", ".join(f"'{log.system}'" for log in reading.logs if log.system)
        raise UsageError(f"The file has no system '{system}': it {f'has {known}' if known else 'names none'}.")
    return replace(reading, logs=tuple(logs))


def import_reading(
    workspace: Workspace,
    corpus: Corpus,
    name: str,
    reading: Reading,
    question_set: QuestionSet | None = None,
    progress: Progress = silent,
) -> list[Run]:
    """Store what a reading holds of each system as the run "name · system"; of a single one as `name`.

    A file without questions is of those of `question_set`, by id, else by place.

    Raises:
        UsageError: as `import_run`; there are no questions.

    """
    asked = [each for each in workspace.store.questions.all(question_set.id) if each.asked] if question_set else []
    runs: list[Run] = []
    for log in reading.logs:
        called = name if len(reading.logs) == 1 else f"{name} · {log.system or len(runs) + 1}"
        log = _with_questions(log, asked)
        before, fingerprint = workspace.store.runs.find(called), _fingerprint(_content(log), question_set)
        resumed = before is not None and (before.status, before.fingerprint) == ("done", fingerprint)
        again = len(reading.logs) > 1 and before is not None and resumed and before.corpus_id == corpus.id
        runs.append(before if before and again else import_run(workspace, corpus, called, log, question_set, progress))
    return runs


def _with_questions(log: Log, asked: Sequence[Question]) -> Log:
    """Return a log with the questions that it is of: those of a set in their order, where neither text nor id says."""
    if any(item.question for item in log.items) or {item.id for item in log.items} & {each.id for each in asked}:
        return log
    if len(asked) != len(log.items):
        has = f"the set has {len(asked):,}" if asked else "give the set that it is of: --questions SET"
        raise UsageError(f"The file names no questions for its {len(log.items):,} items: {has}.")
    items = [replace(item, id=each.id, question=each.text) for item, each in zip(log.items, asked, strict=True)]
    return replace(log, items=tuple(items))


def _content(log: Log) -> str:
    return digest(*(repr(each) for each in log.items))


def _fingerprint(content: str, question_set: QuestionSet | None) -> str:
    return digest(content, question_set.id if question_set else "")


class Recorder:
    """Stores what another system said as a run, item by item, in any order; not for several threads at once.

    `content` is a digest of what makes the run: one that was interrupted under this name with the same is resumed, with
    `again` also one that is done; `done` are the ids of the questions that it has. An item replaces one whose id was
    taken from there. `target` is the run's, `origin` the name of the program or system.
    Items are of the questions of `question_set`, by id, else by text; those of none are left out, as `problems` tell.
    `asked` are those of the set that count, where they are not all. Without a set, one of the run's name is made of
    them.
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
        asked: Sequence[Question] | None = None,
        again: bool = False,
        progress: Progress = silent,
    ) -> None:
        """Create the run, or open the interrupted one, and read the documents of the corpus.

        Raises:
            UsageError: the name is blank or taken; the set is of another corpus.

        """
        if question_set is not None and question_set.corpus_id != corpus.id:
            raise UsageError(f"Question set '{question_set.name}' is of another corpus: choose one of '{corpus.name}'.")
        self._workspace, self._store, self._origin = workspace, workspace.store, origin
        if asked is None:
            all_asked = self._store.questions.all(question_set.id) if question_set else []
            asked = [question for question in all_asked if question.asked]
        fingerprint = _fingerprint(content, question_set)
        existing = self._store.runs.find(name)
        made_of = (existing.corpus_id, existing.provenance["identity"].get("answers")) if existing else None
        if existing is not None and made_of == (corpus.id, fingerprint) and (again or existing.status == "running"):
            self.run = existing
            self._store.runs.set_status(existing.id, "running")
        else:
            self.run = self._new(corpus, name, fingerprint, target, question_set)
        self._joined = question_set is not None
        told = self._store.judgements.failed(self.run.id)
        self.done = {each for each in self._store.rankings.question_ids(self.run.id) if each in told}
        in_order = asked if self._joined else self._store.rankings.questions(self.run.id)
        self._positions = {question.id: place for place, question in enumerate(in_order)}
        self._by_id = {question.id: question for question in asked}
        texts = Counter(_alike(question.text) for question in asked)
        self._by_text = {text: question for question in asked if texts[text := _alike(question.text)] == 1}
        self._new_ids = set[str]()
        self._places: dict[tuple[str, str], Place | None] = {}
        self._passages: dict[tuple[str, str], str] = {}
        self.problems: list[str] = []
        ids = self._store.documents.readable(corpus.id)
        self._files = frozenset(ids)
        self._text_of = lru_cache(maxsize=512)(lambda i: self._store.documents.get(corpus.id, i).text)
        self._documents = Places(self._store.documents.texts(corpus.id, ids), self._text_of, progress)

    def _new(self, corpus: Corpus, name: str, fingerprint: str, target: str, question_set: QuestionSet | None) -> Run:
        sets, name = self._store.sets, self._store.runs.free_name(name)
        left = None if question_set else sets.find(name)
        resumed = left is not None and left.corpus_id == corpus.id and not left.total
        own = question_set or (left if left is not None and resumed else sets.add(corpus.id, name))
        facts: dict[str, Any] = {
            "identity": {"answers": fingerprint}
            | dict.fromkeys(("corpus", "questions", "index", "embedder", "metrics"), ""),
            "index_config": {},
            "index": "imported",
            "questions": own.name,
            "ragviz": __version__,
            "n": 0,
            "target": target,
            "knows": {"ranking": False, "first_k": False, "again": False, "opaque": True, "answers": True},
        }
        try:
            config, person = RunConfig("", own.id, "imported", depth=1, k=1), self._workspace.person.name
            return self._store.runs.add(name, corpus.id, config, fingerprint, facts, person)
        except UsageError:
            if question_set is None and not resumed:
                sets.delete(own.id)
            raise

    def put(self, items: Sequence[LoggedItem]) -> None:
        """Store items; one of a question that is stored already, or of none of the set, is left out and told."""
        asked = [(item, question) for item in items if (question := self._question_of(item)) is not None]
        passages: list[Document] = []
        stored = [self._stored(item, question, passages) for item, question in asked]
        if passages:
            self._store.documents.add_passages(self.run.corpus_id, passages)
        results = [
            (self._positions.setdefault(each.question.id, len(self._positions)), each.question, retrieved)
            for retrieved, each in stored
        ]
        self._store.rankings.replace(self.run.id, results)
        self._store.judgements.put(self.run.id, [(each, ()) for _, each in stored])
        self._store.runs.note(self.run.id, n=len(self.done))

    def _question_of(self, item: LoggedItem) -> Question | None:
        """Return the question of an item; None where there is none, or another item of it came before."""
        question = self._by_id.get(item.id) or self._by_text.get(_alike(item.question))
        if self._joined and question is None:
            self.problems.append(f"'{item.id}' is no question of the set, by id or by text: it is left out.")
            return None
        if question is None:
            lang = language.of_short(item.question, language.detect("\n".join(each.text for each in item.contexts)))
            question = Question(
                item.id, item.question, item.reference, (), "import", "accepted", language=lang, history=item.history
            )
        if question.id in self._new_ids:
            self.problems.append(f"'{item.id}' is a second item of question '{question.id}': it is left out.")
        if question.id in self.done:
            return None
        self.done.add(question.id)
        self._new_ids.add(question.id)
        return question

    def _stored(
        self, item: LoggedItem, question: Question, passages: list[Document]
    ) -> tuple[Retrieved, EvaluatedAnswer]:
        """Return the ranking of an item, and its recording with its verdicts; `passages` gets what stands nowhere."""
        read = self._read(item, passages)
        matrix = item.matrix or Matrix()
        if not self._joined:
            question = replace(question, evidence=self._evidence_of(item, read))
        ids = tuple(context.chunk_id for context in read)
        known = [passage.score for passage in item.contexts if passage.score is not None]
        in_order = len(known) == len(ids) and known == sorted(known, reverse=True)
        scores = tuple(known) if in_order else tuple(1 / rank for rank in range(1, len(ids) + 1))
        recording = _recording(item, question.id, read, self._origin)
        evaluated = EvaluatedAnswer(question, recording, replace(matrix, chunks=ids), given=_given(item.matrix))
        evaluated = replace(evaluated, verdicts={self._origin: dict(item.scores)} if item.scores else {})
        return Retrieved(question.id, Ranking(ids, scores), ()), evaluated

    def _read(self, item: LoggedItem, passages: list[Document]) -> tuple[Context, ...]:
        """Return an item's contexts with their places; those that stand in no document are added to `passages`."""
        read: dict[str, Context] = {}
        for number, passage in enumerate(item.contexts):
            key = passage.text, passage.document if passage.text else f"{passage.document}\n{passage.id}"
            if key not in self._places:
                by_name = self._documents.named(passage.document or passage.id)
                self._places[key] = self._documents.find(*key) if passage.text else by_name
            place = self._places[key]
            if place and _chunk_id(place) in read:  # what was read twice has two places
                place = self._documents.find(*key, but=read)
            chunk_id = _chunk_id(place) if place else self._passages.get(key)
            if chunk_id is None or chunk_id in read:
                shown = passage.id[:LONGEST_SHOWN] or str(number)
                again = f"-{number}" if chunk_id else ""
                passages.append(document := _document(f"{self.run.name}/{item.id}-{shown}{again}.txt", passage.text))
                chunk_id, place = Chunk.make_id(document.id, 0, len(passage.text)), None
                self._passages.setdefault(key, chunk_id)
            found: Found | Literal[""] = place.how if place else "not" if self._files else ""
            share = place.share if place else 0.0
            read[chunk_id] = Context(passage.text, chunk_id, score=passage.score, found=found, share=share)
        return tuple(read.values())

    def _evidence_of(self, item: LoggedItem, read: Sequence[Context]) -> Evidence:
        """Return the evidence of a question that has no set.

        That is where all of its reference contexts stand in documents, or else in passages that were read; else the
        passages that help to answer it, as verdicts say.
        """
        spans = []
        for text in dict.fromkeys(text for text in item.reference_contexts if text.strip()):
            if place := self._documents.find(text):
                quote = self._text_of(place.document_id)[place.start : place.end]
                spans.append(Span(place.document_id, place.start, place.end, quote))
            else:
                places = [(context, locate(text, context.text)) for context in read if self._is_passage(context)]
                spans += [_span(context, *found) for context, found in places if found][:1] or [_NOWHERE]
        if spans and _NOWHERE not in spans:
            return tuple((span,) for span in dict.fromkeys(spans))
        useful = (item.matrix or Matrix()).useful or (False,) * len(read)
        helping = [context for context, helps in zip(read, useful, strict=True) if helps and self._is_passage(context)]
        if helping:
            return (tuple(_span(context, 0, len(context.text)) for context in helping),)
        return () if item.reference.strip() else ((_NOWHERE,),)

    def _is_passage(self, context: Context) -> bool:
        place = Chunk.parse_id(context.chunk_id)
        return place is not None and place[0] not in self._files

    def finish(self, progress: Progress = silent) -> Run:
        """Measure what was stored, and mark the run as done.

        Raises:
            UsageError: nothing was stored.

        """
        run, store = self.run, self._store
        if not self.done:
            raise UsageError(f"Nothing is stored in run '{run.name}'. {' '.join(self.problems[:3])}")
        if missing := len(self._by_id) - len(self.done) if self._joined else 0:
            asked = counted(len(self._by_id), "question")
            have = "has" if missing == 1 else "have"
            self.problems.append(f"{missing:,} of {asked} of '{run.provenance['questions']}' {have} no item.")
        store.runs.note(run.id, problems=self.problems[:MOST_TOLD])
        run = _configured(self._workspace, _ranked(self._workspace, store.runs.get(run.id)))
        if not self._joined:
            store.questions.put(run.config.questions, store.rankings.questions(run.id))
        running.score(self._workspace, run, progress)
        overviews.finish(self._workspace, run)
        return store.runs.get(run.id)

    def delete(self) -> None:
        """Delete the run with all that was stored of it."""
        self._store.runs.delete(self.run.id)
        if not self._joined:
            self._store.sets.delete(self.run.config.questions)


def measure_again(workspace: Workspace, run: Run) -> Run:
    """Measure the rankings of a run that was recorded elsewhere by the evidence that its question set has now."""
    run = _ranked(workspace, run)
    overviews.finish(workspace, run)
    return workspace.store.runs.get(run.id)


def _ranked(workspace: Workspace, run: Run) -> Run:
    """Store the evidence that the questions of a run have now, and the gold chunks in its rankings.

    Rankings can be measured where evidence stands in documents: passages that only the run names are what it retrieved,
    and would make every question a hit.
    """
    store = workspace.store
    now = {question.id: question.evidence for question in store.questions.all(run.config.questions)}
    questions = store.rankings.questions(run.id)
    questions = [replace(question, evidence=now.get(question.id, question.evidence)) for question in questions]
    ids = frozenset(store.documents.readable(run.corpus_id))
    placed = {
        question.id
        for question in questions
        for group in question.evidence  # stands in a document of the corpus, or stood in one
        if any(span.document_id in ids or (span.stale and span.document_id) for span in group)
    }
    if placed:  # a passage is no evidence then; what says that a question without a reference has an answer stays
        questions = [q if q.id in placed or not q.answer.strip() else replace(q, evidence=()) for q in questions]
    results = store.rankings.all(run.id)
    nothing = [result.question_id for result in results if not result.ranking.ids]
    if len(nothing) == len(results):
        placed = set()  # what it reads is not told
    elif nothing:  # a call that failed read nothing, and tells nothing of retrieval
        told = store.judgements.all(run.id, nothing)
        placed -= {i for i in nothing if i in told and told[i].recording.status == "failed"}
    golds = _gold_of(workspace, run, questions, results)
    unknown: tuple[tuple[tuple[str, ...], ...], dict[str, float]] = ((), {})
    measured = []
    for question, result, found in zip(questions, results, golds, strict=True):
        of_groups, grades = found if question.id in placed else unknown
        measured.append((question, replace(result, gold=of_groups, grades=grades)))
    store.rankings.put_gold(run.id, measured)
    identity = {"corpus": corpus_hash(ids), "questions": questions_hash(questions)}
    identity |= {"metrics": choices.metrics_hash() if placed else ""}
    knows = run.provenance["knows"] | {"ranking": bool(placed)}
    store.runs.note(run.id, knows=knows, n=len(questions), identity=run.provenance["identity"] | identity)
    return store.runs.get(run.id)


def _configured(workspace: Workspace, run: Run) -> Run:
    """Note what the recordings of a run can tell, and choose the metrics that they allow as they are."""
    store, metrics = workspace.store, set[str]()
    ids, depth = [question.id for question in store.rankings.questions(run.id)], 1
    told = {"contexts": False, "answers": False, "reference": False}
    found, unanswered, shares, scored = Counter[str](), Counter[str](), list[float](), True
    for start in range(0, len(ids), BATCH):
        batch = [*store.judgements.all(run.id, ids[start : start + BATCH]).values()]
        depth = max(depth, *(len(each.recording.contexts) for each in batch))
        told["contexts"] |= any(each.recording.contexts for each in batch)
        told["answers"] |= any(each.recording.has_answer for each in batch)
        told["reference"] |= any(each.question.answer.strip() for each in batch)
        unanswered.update(each.recording.reason for each in batch if each.recording.status == "failed")
        metrics.update(answer_metrics.with_values(batch, Knows(answers=True)))
        read = [context for each in batch for context in each.recording.contexts]
        scored &= all(context.score is not None for context in read)
        found.update(context.found for context in read)
        shares += [context.share for context in read if context.found == "nearly"]
    facts: dict[str, Any] = {"contexts": dict(found) | ({"share": sum(shares) / len(shares)} if shares else {})}
    if unanswered or "unanswered" in run.provenance:
        facts["unanswered"] = dict(unanswered.most_common(3))
    store.runs.note(run.id, knows=run.provenance["knows"] | told, scored=scored and bool(found), **facts)
    tells = store.runs.get(run.id).knows.tells
    names = [name for name in metrics if tells.issuperset(answer_metrics.ANSWER_METRICS[name].needs)]
    ordered = tuple(name for name in answer_metrics.ANSWER_METRICS if name in names)
    answerer: Literal["imported", "none"] = "imported" if told["answers"] else "none"
    config = replace(run.config, depth=depth, k=depth, answerer=answerer, metrics=ordered)
    return store.runs.configure(run.id, config, run.fingerprint)


def _gold_of(
    workspace: Workspace, run: Run, questions: Sequence[Question], results: Sequence[Retrieved]
) -> list[tuple[tuple[tuple[str, ...], ...], dict[str, float]]]:
    """Return gold chunks and grades: those of the index of whose chunks all contexts are, else those among contexts."""
    read = {chunk_id for result in results for chunk_id in result.ranking.ids}
    for info in workspace.store.indexes.all(run.corpus_id):
        cuts = workspace.store.indexes.cuts(info.build, info.documents)
        if read.issubset(i for document_id, each in cuts.items() for i in indexing.chunk_ids(document_id, each)):
            return contexts.gold_of(workspace, info, questions, cuts)
    return [
        gold.gold_among(question.evidence, result.ranking.ids)
        for question, result in zip(questions, results, strict=True)
    ]


def _alike(text: str) -> str:
    return " ".join(normal_form(text).split())


def _chunk_id(place: Place) -> str:
    return Chunk.make_id(place.document_id, place.start, place.end)


def _span(context: Context, start: int, end: int) -> Span:
    document_id, _, _ = Chunk.parse_id(context.chunk_id) or ("", 0, 0)
    return Span(document_id, start, end, context.text[start:end])


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
    if matrix is None or matrix.answer_claims is None or matrix.reference_claims is None:
        return ()
    by_chunk = matrix.answer_by_chunk is not None and matrix.reference_by_chunk is not None
    compared = matrix.answer_by_reference is not None and matrix.reference_by_answer is not None
    return ("reference", "claims", *(["context"] if by_chunk else []), *(["comparison"] if compared else []))


def _document(name: str, text: str) -> Document:
    data = text.encode("utf-8", "surrogatepass")
    document_id = Document.make_id(name, text)
    return Document(document_id, name, text, (), language.detect(text), "text/plain", digest(data), len(data))
