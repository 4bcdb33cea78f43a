"""The store: records come back whole, names are unique, deletions take what depends on them."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa

from ragviz.core.call import Paid
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Chunk, Span
from ragviz.core.errors import Deleted, NotFoundError, UsageError
from ragviz.core.question import Question, Split
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Recording
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.store import database, schema, stored_runs
from ragviz.store.store import Store, open_store
from tests.builders import document


def make_question(number: int = 1) -> Question:
    span = Span("d" * 16, 3, 9, "quoted")
    return Question(f"q{number}", "Why?", "Because.", ((span,), (span, span)), "hand", source_chunks=("c1",))


@pytest.fixture
def store(database_url) -> Store:
    return open_store(database_url)


def test_replaced_text_stays_while_an_index_needs_it(store):
    corpus = store.corpora.add("one")
    old, new = document("a.txt", "old"), document("a.txt", "new")
    store.documents.add(corpus.id, old)
    index = store.indexes.add(corpus.id, "i", IndexConfig())
    store.indexes.update(replace(index, documents=(old.id,)))
    store.documents.add(corpus.id, new)
    assert [d.id for d in store.documents.all(corpus.id)] == [new.id]
    store.evidence.settle(corpus.id)
    assert store.documents.get(corpus.id, old.id).text == "old"
    store.indexes.delete(index.id)
    store.evidence.settle(corpus.id)
    with pytest.raises(NotFoundError):
        store.documents.get(corpus.id, old.id)


def named_by_a_run(store, corpus, document):
    run = store.runs.add(document.id, corpus.id, RunConfig("i", "s"), "f", {})
    found = Retrieved("q", Ranking((Chunk.make_id(document.id, 0, 3),), (1.0,)), ())
    store.rankings.put(run.id, [(0, Question("q", "What?", "", (), "hand"), found)])
    return run


def test_a_replaced_text_stays_as_long_as_a_run_names_it(store):
    corpus = store.corpora.add("one")
    old, new = document("a.txt", "old"), document("a.txt", "new")
    store.documents.add(corpus.id, old)
    runs = [named_by_a_run(store, corpus, old), store.runs.add("other", corpus.id, RunConfig("i", "s"), "f", {})]
    about = Question("q", "What?", "", ((Span(old.id, 0, 3, "old"),),), "hand")
    store.rankings.replace(runs[1].id, [(0, about, Retrieved("q", Ranking((), ()), ()))])
    store.documents.add(corpus.id, new)
    store.evidence.settle(corpus.id)
    for run in runs:
        assert store.documents.get(corpus.id, old.id).text == "old"
        assert store.documents.names(corpus.id) == {old.id: "a.txt (replaced since)", new.id: "a.txt"}
        assert store.corpora.holdings(corpus.id)["documents"] == 1
        store.runs.delete(run.id)
    assert list(store.documents.texts(corpus.id, [old.id])) == []
    assert store.documents.names(corpus.id, [old.id, new.id]) == {new.id: "a.txt"}


def test_cuts_follow_the_build_that_is_searched(store):
    index = store.indexes.add(store.corpora.add("one").id, "i", IndexConfig(options={"m": 8}))
    assert index.config.options == {"m": 8}
    cuts = np.array([[0, 5, 2], [5, 9, 1]], dtype=np.int32)
    store.indexes.update(replace(index, build="b1", chunks=2), {"d1": cuts})
    assert store.indexes.cuts("b1", ["d1", "d2"])["d1"].tolist() == cuts.tolist()
    store.indexes.update(replace(index, build="b2", chunks=1), {"d1": cuts[:1]})
    assert store.indexes.cuts("b1", ["d1"]) == {}
    assert store.indexes.cuts("b2", ["d1"])["d1"].shape == (1, 3)


def test_a_split_is_kept_with_its_set_whatever_becomes_of_the_questions(store):
    corpus = store.corpora.add("one")
    question_set = store.sets.add(corpus.id, "asked")
    assert (question_set.split, question_set.sides) == (None, {})
    questions = [replace(make_question(number), status="accepted") for number in range(1, 6)]
    questions[4] = replace(questions[4], status="rejected")
    store.questions.put(question_set.id, questions)
    sides = {"q1": "validation", "q2": "test", "q3": "test", "gone": "test"}
    before = store.revisions(question_set.id)
    store.sets.put_split(question_set.id, Split("grouped", 0.4, 7), sides)
    assert store.revisions(question_set.id) > before, "caches know of it"

    def split_now() -> dict[str, str]:
        return {q.id: q.split for q in store.questions.all(question_set.id)}

    assert store.sets.get("asked").split == Split("grouped", 0.4, 7)
    assert store.sets.get("asked").sides == {"validation": 1, "test": 2, "": 1}, "without the rejected one"
    assert store.questions.all(question_set.id)[1] == replace(questions[1], split="test")
    # An edit keeps the side, and so does writing a question again; a new question has none.
    version = schema.version_of(questions[1])
    assert store.questions.replace(question_set.id, replace(questions[1], text="How?"), version)[0]
    store.questions.put(question_set.id, [replace(questions[0], answer="So."), make_question(6)])
    assert split_now() == {"q1": "validation", "q2": "test", "q3": "test", "q4": "", "q5": "", "q6": ""}
    store.questions.delete(question_set.id, ["q3"])
    assert store.sets.get("asked").sides == {"validation": 1, "test": 1, "": 2}
    store.sets.put_split(question_set.id, Split("stratified", 0.5, 0), {"q4": "validation"})
    assert split_now() == {"q1": "", "q2": "", "q4": "validation", "q5": "", "q6": ""}, "nothing is left of the first"
    store.questions.put(question_set.id, [replace(make_question(7), split="test")], Split("imported"))
    assert (store.sets.get("asked").split, split_now()["q7"]) == (Split("imported"), "test")
    store.sets.put_split(question_set.id, None, {"q4": "test"})
    assert (store.sets.get("asked").split, set(split_now().values())) == (None, {""})


def test_every_change_of_content_is_counted_for_its_owner_only(store):
    corpus = store.corpora.add("one")
    index = store.indexes.add(corpus.id, "i", IndexConfig())
    question_set = store.sets.add(corpus.id, "q")
    run = store.runs.add("r", corpus.id, RunConfig(index.id, question_set.id), "f", {"index": "i"})
    question, retrieved = make_question(), Retrieved("q1", Ranking(("c1",), (1.0,)), (("c1",),))
    question = replace(question, evidence=((Span(document("a.txt", "other").id, 0, 5, "other"),),))
    evaluated = EvaluatedAnswer(question, Recording("q1", answer="yes", status="answered", origin="extractive"))
    owners = (corpus.id, index.id, question_set.id, run.id)
    changes = [
        (corpus.id, lambda: store.documents.add(corpus.id, document("a.txt", "你好"))),
        (corpus.id, lambda: store.documents.add(corpus.id, document("a.txt", "other"))),
        (corpus.id, lambda: store.documents.add(corpus.id, document("b.pdf", "gone"), errors={"b.pdf": "empty"})),
        (corpus.id, lambda: store.documents.delete(corpus.id, [document("a.txt", "你好").id])),
        (corpus.id, lambda: store.evidence.settle(corpus.id)),
        (index.id, lambda: store.indexes.update(replace(index, build="b1"))),
        (question_set.id, lambda: store.questions.put(question_set.id, [question])),
        (question_set.id, lambda: store.questions.put(question_set.id, [replace(question, text="What?")])),
        (question_set.id, lambda: store.questions.delete(question_set.id, ["q1"])),
        (question_set.id, lambda: store.touch(question_set.id)),
        (run.id, lambda: store.rankings.put(run.id, [(0, question, retrieved)])),
        (run.id, lambda: store.judgements.put(run.id, [(evaluated, [])])),
        (run.id, lambda: store.judgements.put(run.id, [(evaluated, [Score("token_f1", 1.0)])])),
        (run.id, lambda: store.payments.add(run.id, Paid(1, dollars=0.5))),
        (run.id, lambda: store.runs.set_status(run.id, "done")),
        (run.id, lambda: store.runs.rename(run.id, "renamed")),
        (run.id, lambda: store.runs.label(run.id, note="n", tags=["t"])),
    ]
    before = store.revisions(*owners)
    for place, (owner, change) in enumerate(changes):
        change()
        after = store.revisions(*owners)
        assert [o for o, old, new in zip(owners, before, after, strict=True) if old != new] == [owner], place
        assert all(new >= old for old, new in zip(before, after, strict=True))
        before = after
    assert open_store(store._engine.url.render_as_string(hide_password=False)).revisions(*owners) == before
    store.runs.delete(run.id)
    store.indexes.delete(index.id)
    store.corpora.delete(corpus.id)
    assert store.revisions(*owners) == (0, 0, 0, 0)
    assert store.revisions() == ()


def test_prices_are_in_the_database_and_two_who_change_them_keep_both_changes(store, database_url):
    first = store.prices.all()
    assert first["gpt-4o"] == (2.5, 10.0)
    other = open_store(database_url).prices
    other.put(first | {"a": (1.0, 2.0)}, first)
    store.prices.put({"b": (3.0, 4.0)}, first)  # who saw neither "a" nor took it away
    assert other.all() == {"a": (1.0, 2.0), "b": (3.0, 4.0)}
    with pytest.raises(UsageError, match="price of a was changed by somebody else"):
        store.prices.put({"a": (9.0, 9.0)}, {})
    with pytest.raises(UsageError, match="two numbers from 0 up"):
        store.prices.put({"c": (float("nan"), 1.0)})
    store.prices.put({})
    assert other.all() == {}


def test_two_who_add_a_price_at_once_are_no_error(store, database_url):
    with ThreadPoolExecutor() as threads:
        with database.writing(open_store(database_url)._engine) as first:
            first.execute(schema.prices.insert(), {"model": "b", "input": 3.0, "output": 4.0})
            second = threads.submit(store.prices.put, {"b": (5.0, 6.0)})
            time.sleep(0.5)  # until it waits for the first
            assert not second.done()
        second.result(timeout=30)
    assert store.prices.all() == {"b": (5.0, 6.0)}


@pytest.fixture
def finished(store):
    corpus = store.corpora.add("c")
    runs = [store.runs.add(name, corpus.id, RunConfig("i", "q"), "f", {}) for name in ("first", "second")]
    for run in runs:
        store.runs.set_status(run.id, "done")
    return [store.runs.get(run.id) for run in runs]


def test_a_renamed_run_is_found_by_its_former_names(store, finished):
    first, second = finished
    store.runs.rename(first.id, " 基线 ")
    store.runs.rename(first.id, "baseline")
    assert [store.runs.get(name).id for name in ("baseline", "基线", "first", first.id)] == [first.id] * 4
    assert store.runs.find("first") is None, "a new run may take the name"
    assert store.runs.names(["first", "基线", second.id, "second", "gone", "a\0"]) == {
        "first": (first.id, "baseline"),
        "基线": (first.id, "baseline"),
        second.id: (second.id, "second"),
        "second": (second.id, "second"),
    }
    store.runs.rename(second.id, "first")
    assert store.runs.get("first").id == second.id, "a present name goes before a former one"
    store.runs.rename(second.id, "third")
    assert store.runs.get("first").id == second.id, "the run that had it last"
    store.runs.rename(second.id, "second")
    assert store.runs.get("third").id == second.id
    store.runs.delete(second.id)
    with pytest.raises(NotFoundError, match="no run called 'third'"):
        store.runs.get("third")


def test_a_summary_holds_until_its_run_changes_but_not_by_name_note_or_tags(store, finished):
    first, second = finished
    ids = [first.id, second.id]
    for run in finished:
        store.runs.put_summary(run.id, *store.revisions(run.id), "v1", {"n": 3}, {"causes": ["fine"]})
    store.runs.rename(first.id, "renamed")
    store.runs.label(first.id, note="n", tags=["t"])
    assert store.runs.summaries(ids, "v1") == {i: {"n": 3} for i in ids}
    assert store.runs.summaries(ids, "v2") == {}
    assert store.runs.overview(first.id, "v1") == {"causes": ["fine"]}
    assert store.runs.overview(first.id, "v2") is None
    store.payments.add(second.id, Paid(1, dollars=0.1))
    assert store.runs.summaries(ids, "v1") == {first.id: {"n": 3}}
    assert store.runs.overview(second.id, "v1") is None
    store.runs.label(second.id, note="n")
    assert store.runs.summaries([second.id], "v1") == {}, "it stays out of date"
    store.runs.put_summary(second.id, *store.revisions(second.id), "v1", {"n": 4}, {})
    assert store.runs.summaries([second.id], "v1") == {second.id: {"n": 4}}
    store.runs.delete(first.id)
    assert store.runs.summaries(ids, "v1") == {second.id: {"n": 4}}
    with pytest.raises(Deleted):
        store.runs.put_summary(first.id, 1, "v1", {}, {})


DEPTH, QUESTIONS, CHUNKS = 50, 200, 2_000


@pytest.fixture
def run_id(store) -> str:
    return store.runs.add("r", store.corpora.add("c").id, RunConfig("i", "s"), "f", {}).id


def rankings(ids: list[str], rng: np.random.Generator) -> list[tuple[int, Question, Retrieved]]:
    return [
        (n, Question(f"q{n}", "?", "", (), "hand"), Retrieved(f"q{n}", Ranking(chunks, scores), ((chunks[0],),)))
        for n in range(QUESTIONS)
        for chunks in [tuple(rng.choice(ids, DEPTH, replace=False).tolist())]
        for scores in [tuple(np.sort(rng.random(DEPTH))[::-1].tolist())]
    ]


def test_a_ranking_of_fifty_chunks_takes_less_than_a_kilobyte_and_is_read_as_it_was(store, run_id):
    rng = np.random.default_rng(1)
    ids = [Chunk.make_id(f"{rng.integers(50):032x}", start, start + 800) for start in range(0, 800 * CHUNKS, 800)]
    given = rankings(ids, rng)
    for start in range(0, QUESTIONS, 16):  # as a run stores them
        store.rankings.put(run_id, given[start : start + 16])
    assert store.rankings.all(run_id) == [result for _, _, result in given], "to the last digit"
    with store._engine.connect() as connection:
        results = connection.execute(sa.select(schema.results.c.chunks, schema.results.c.scores)).all()
        blocks = connection.execute(sa.select(schema.run_chunks.c.ids)).scalars().all()
        assert len(stored_runs.chunk_ids(connection, run_id)) == len({i for _, _, r in given for i in r.ranking.ids})
    packed = [len(row.chunks) + len(row.scores) for row in results]
    assert max(packed) <= 600
    assert (sum(packed) + sum(map(len, blocks))) / QUESTIONS < 1_000


def test_chunks_beyond_those_that_two_bytes_number_are_read_as_they_were(store, run_id):
    ids = [Chunk.make_id(f"{number:032x}", 0, 800) for number in range(1_320 * DEPTH)]
    scores = tuple(map(float, range(DEPTH, 0, -1)))
    given = [
        (
            n,
            Question(f"q{n}", "?", "", (), "hand"),
            Retrieved(f"q{n}", Ranking(tuple(ids[n * DEPTH :][:DEPTH]), scores), ()),
        )
        for n in range(1_320)
    ]
    for start in range(0, len(given), 256):
        store.rankings.put(run_id, given[start : start + 256])
    assert store.rankings.all(run_id) == [result for _, _, result in given]
