"""Rankings in the store: numbers of chunks and scores, read as they were given, in less than a kilobyte a question."""

import numpy as np
import pytest
import sqlalchemy as sa

from ragviz.core.configuration import RunConfig
from ragviz.core.document import Chunk
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.store import schema, stored_runs
from ragviz.store.store import open_store

DEPTH, QUESTIONS, CHUNKS = 50, 200, 2_000


@pytest.fixture
def store(database_url):
    return open_store(database_url)


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
