"""Eight writers at once, each with its own store: the result is that of one writer, on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from ragviz.core.call import Paid
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Span
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Recording
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.store.schema import version_of
from ragviz.store.store import Store, open_store
from ragviz.store.stored_questions import StoredQuestions
from tests.builders import document

WRITERS, ROUNDS = 8, 20
Work = Callable[[Store, int, int], Any]
"""What one writer does in one round: (its store, its number, the round)."""


@pytest.fixture
def url(database_url: str) -> str:
    return database_url


def side_by_side(url: str, work: Work) -> list[Any]:
    """Do `work` in every round of every writer, all writers begin a round together; what came of it, errors too."""
    start = Barrier(WRITERS)

    def write(number: int) -> list[Any]:
        store, outcomes = open_store(url), []
        for round_number in range(ROUNDS):
            start.wait(60)
            try:
                outcomes.append(work(store, number, round_number))
            except Exception as error:  # reported by the test
                outcomes.append(error)
        store._engine.dispose()
        return outcomes

    with ThreadPoolExecutor(WRITERS) as pool:
        return [outcome for outcomes in pool.map(write, range(WRITERS)) for outcome in outcomes]


def errors(outcomes: list[Any]) -> list[str]:
    return [f"{type(outcome).__name__}: {outcome}" for outcome in outcomes if isinstance(outcome, Exception)]


def question(name: str, text: str = "Why?") -> Question:
    return Question(name, text, "因为。", (), "hand")


@pytest.fixture
def corpus_id(url: str) -> str:
    return open_store(url).corpora.add("笔记 notes").id


@pytest.fixture
def set_id(url: str, corpus_id: str) -> str:
    return open_store(url).sets.add(corpus_id, "set").id


@pytest.fixture
def run_id(url: str, corpus_id: str) -> str:
    return open_store(url).runs.add("run", corpus_id, RunConfig("i", "s"), "f", {}).id


def test_questions_have_a_place_each(url, set_id):
    def work(store: Store, writer: int, turn: int) -> None:
        own, shared = question(f"own-{writer}-{turn}"), question(f"shared-{turn}", f"问题 {writer}?")
        store.questions.put(set_id, [own, shared] if writer % 2 else [shared, own])

    assert errors(side_by_side(url, work)) == []
    with open_store(url)._engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT id, position FROM questions").all()
    assert len(rows) == WRITERS * ROUNDS + ROUNDS
    assert sorted(row.position for row in rows) == list(range(len(rows)))
    assert open_store(url).revisions(set_id) == (WRITERS * ROUNDS,)


def test_no_payment_is_lost(url, corpus_id, run_id):
    runs = [open_store(url).runs.add(f"r{n}", corpus_id, RunConfig("i", "s"), "f", {}).id for n in range(ROUNDS)]

    def work(store: Store, writer: int, turn: int) -> None:
        store.payments.add(run_id, Paid(1, dollars=0.25))
        store.payments.add(runs[turn], Paid(1, dollars=0.5))

    assert errors(side_by_side(url, work)) == []
    store = open_store(url)
    assert store.payments.of(run_id) == Paid(WRITERS * ROUNDS, dollars=WRITERS * ROUNDS * 0.25)
    assert {store.payments.of(run) for run in runs} == {Paid(WRITERS, dollars=WRITERS * 0.5)}


def test_one_document_of_a_name_stands_and_none_of_the_others_is_left(url, corpus_id):
    def work(store: Store, writer: int, turn: int) -> None:
        store.documents.add(corpus_id, document(f"{turn}.txt", f"text of {writer}"))
        unread = document(f"{turn}.pdf", "")
        store.documents.add(corpus_id, unread, errors={unread.name: "It is empty."})
        store.documents.add_passages(corpus_id, [document(f"passage {turn}", "段落")])

    assert errors(side_by_side(url, work)) == []
    store = open_store(url)  # drops what was replaced and no index needs
    names = [(d.name, d.status) for d in store.documents.all(corpus_id, replaced=True)]
    expected = {f"{n}.txt": "ok" for n in range(ROUNDS)} | {f"{n}.pdf": "error" for n in range(ROUNDS)}
    assert sorted(names) == sorted([*expected.items()] + [(f"passage {n}", "passage") for n in range(ROUNDS)])


def test_a_cache_takes_the_same_keys_in_any_order(url):
    keys = [f"k{n}" for n in range(40)]

    def work(store: Store, writer: int, turn: int) -> None:
        turned = keys[writer * 5 :] + keys[: writer * 5]
        store.cache("model").put_many({f"{key}-{turn}": b"same" for key in (turned if writer % 2 else turned[::-1])})

    assert errors(side_by_side(url, work)) == []
    values = open_store(url).cache("model").get_many([f"{key}-{turn}" for key in keys for turn in range(ROUNDS)])
    assert len(values) == len(keys) * ROUNDS
    assert set(values.values()) == {b"same"}


def test_a_name_is_given_once_and_refused_to_the_others(url, corpus_id):
    makers: dict[str, Work] = {
        "corpora": lambda store, _, turn: store.corpora.add(f"c{turn}"),
        "question_sets": lambda store, _, turn: store.sets.add(corpus_id, f"s{turn}"),
        "runs": lambda store, _, turn: store.runs.add(f"r{turn}", corpus_id, RunConfig("i", "s"), "f", {}),
    }
    for table, make in makers.items():
        outcomes = side_by_side(url, make)
        refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert len(refused) == (WRITERS - 1) * ROUNDS, table
        assert {type(error) for error in refused} == {UsageError}, errors(refused)[:3]
        assert all("There is already a" in str(error) for error in refused)


def test_what_is_known_of_a_run_comes_together(url, run_id):
    def work(store: Store, writer: int, turn: int) -> None:
        store.runs.note(run_id, **{f"{writer}-{turn}": writer})
        one, result = question(f"q{turn}"), Retrieved(f"q{turn}", Ranking(("c",), (1.0,)), (("c",),))
        store.rankings.put(run_id, [(turn, one, result)])
        evaluated = EvaluatedAnswer(one, Recording(one.id, answer="是", status="answered", origin="extractive"))
        store.judgements.put(run_id, [(evaluated, [Score("token_f1", 1.0), Score("rouge_l", 0.5)])])

    assert errors(side_by_side(url, work)) == []
    store = open_store(url)
    assert len(store.runs.get(run_id).provenance) == WRITERS * ROUNDS
    assert [result.question_id for result in store.rankings.all(run_id)] == [f"q{n}" for n in range(ROUNDS)]
    assert len(store.judgements.all(run_id)) == ROUNDS
    assert {metric: len(scores) for metric, scores in store.judgements.scores(run_id).items()} == {
        "token_f1": ROUNDS,
        "rouge_l": ROUNDS,
    }


def test_a_job_goes_to_one(url, corpus_id):
    jobs = [open_store(url).jobs.add("sample", "x", corpus_id, {}).id for _ in range(ROUNDS)]

    def take(store, writer, turn):
        return store.jobs.take(
            lambda seen: next((job for job in seen if job.id == jobs[turn] and job.pid is None), None), pid=writer
        )

    taken = side_by_side(url, take)
    assert errors(taken) == []
    assert len(taken) - taken.count(None) == ROUNDS


def spans_of(store: Store, set_id: str) -> list[Span]:
    return [span for question in store.questions.all(set_id) for group in question.evidence for span in group]


def test_evidence_written_while_its_document_is_replaced_follows_it(url, corpus_id, set_id):
    """Half of the writers replace a document, half write questions about what they saw of it."""
    quote = "The pump hums."

    def work(store: Store, writer: int, turn: int) -> None:
        if writer % 2:
            text = f"{'—' * writer} {turn}. " + (quote if turn % 3 else "泵不响。")
            store.documents.add(corpus_id, document("a.txt", text))
            store.evidence.settle(corpus_id)
            return
        [info] = store.documents.all(corpus_id) or [None]
        if info is None:
            return
        documents = store.documents.texts(corpus_id, [info.id])
        for start in (each.text.find(quote) for each in documents):
            span = Span(info.id, max(0, start), max(0, start) + len(quote), quote)
            store.questions.put(set_id, [replace(question(f"{writer}-{turn}"), evidence=((span,),))])
            old = store.questions.all(set_id)[0]
            store.questions.replace(
                set_id, replace(old, answer=f"{writer} {turn}", evidence=((span,),)), version_of(old)
            )

    assert errors(side_by_side(url, work)) == []
    store = open_store(url)  # outstanding moves are done when it is opened
    [info] = store.documents.all(corpus_id, replaced=True)
    text = store.documents.get(corpus_id, info.id).text
    assert spans_of(store, set_id)
    assert {span.document_id for span in spans_of(store, set_id) if not span.stale} <= {info.id}
    assert quote in text or all(span.stale for span in spans_of(store, set_id))
    assert {text[span.start : span.end] for span in spans_of(store, set_id) if not span.stale} <= {quote}


def test_evidence_in_a_text_that_was_replaced_follows_it(url, corpus_id, set_id):
    """As for questions that are generated from an index that is older than its corpus."""
    store, old, new = open_store(url), document("a.txt", "The pump hums."), document("a.txt", "泵： The pump hums.")
    store.documents.add(corpus_id, old)
    made = store.indexes.add(corpus_id, "i", IndexConfig())
    store.indexes.update(replace(made, build="b", documents=(old.id,)))
    store.documents.add(corpus_id, new)
    store.evidence.settle(corpus_id)
    assert {d.status for d in store.documents.all(corpus_id, replaced=True)} == {"ok", "replaced"}
    span = Span(old.id, 0, 14, "The pump hums.")
    store.questions.put(set_id, [replace(question("q"), evidence=((span,),))])
    store = open_store(url)
    assert spans_of(store, set_id) == [Span(new.id, 3, 17, "The pump hums.")]


def test_a_review_on_the_command_line_keeps_what_others_write_meanwhile(url, corpus_id, set_id, monkeypatch):
    from ragviz import cli
    from ragviz.cli import console
    from ragviz.core.person import Person
    from ragviz.questions import authoring

    store = open_store(url)
    store.questions.put(set_id, [question("a"), question("b")])
    read = StoredQuestions.all

    def reading(self: StoredQuestions, wanted_set: str) -> list[Question]:
        """Read the questions for the command, after which another person edits one."""
        questions = read(self, wanted_set)
        monkeypatch.setattr(StoredQuestions, "all", read)
        store.questions.replace(set_id, replace(questions[0], answer="edited meanwhile"), version_of(questions[0]))
        return questions

    workspace = type("Opened", (), {"store": store, "person": Person("Ann")})()
    monkeypatch.setattr(console, "open_workspace", lambda: workspace)
    monkeypatch.setattr(StoredQuestions, "all", reading)
    review = ["questions", "review", "set", "a", "b", "--reject", "--reason", "重复"]
    with pytest.raises(authoring.Conflict):
        cli.app(review, standalone_mode=False)
    assert store.questions.all(set_id)[0].answer == "edited meanwhile"
    cli.app(review, standalone_mode=False)
    questions = store.questions.all(set_id)
    assert [q.status for q in questions] == ["rejected", "rejected"]
    assert [q.reason for q in questions] == ["重复", "重复"]
    assert questions[0].answer == "edited meanwhile"
