"""What every backend must do, tested on the local one and on a real Elasticsearch."""

import secrets
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from ragviz.backends.protocol import Index
from ragviz.core.errors import DamagedIndex, SearchError
from ragviz.core.ranking import Ranking
from ragviz.core.settings import Settings
from ragviz.models.vectors import Vectors
from ragviz.retrieval.retrievers import hybrid
from ragviz.workspace import Workspace
from tests.test_elastic import chunk, units

Open = Callable[..., Index]
NOTHING = Ranking((), ())


@pytest.fixture
def opened(backend: str, request: pytest.FixtureRequest, tmp_path) -> Iterator[Open]:
    """`opened(name)` opens an index on the backend; all of them are dropped at the end."""
    url = request.getfixturevalue("elasticsearch_url") if backend == "elasticsearch" else None
    run, indexes = secrets.token_hex(4), []

    def open_one(name: str = "handbook", **options: object) -> Index:
        options = {"type": "flat"} | options if backend == "elasticsearch" else {}
        settings = Settings(_env_file=None, home=tmp_path, elasticsearch_url=url)
        index = Workspace(settings).open_index(f"{name} {run}", backend, options)
        indexes.append(index)
        return index

    yield open_one
    for index in indexes:
        index.drop()


def fill(index: Index, ids: Sequence[str], vectors: Vectors, texts: Sequence[str] | None = None) -> None:
    writer = index.rebuild(vectors.shape[1])
    chunks = [chunk(chunk_id, text) for chunk_id, text in zip(ids, texts or ["a text"] * len(ids), strict=True)]
    writer.add(chunks, vectors)
    writer.publish(len(chunks))


def fill_texts(index: Index, texts: dict[str, str]) -> None:
    fill(index, list(texts), units(len(texts)), list(texts.values()))


def oracle(vectors: Vectors, queries: Vectors, similarity: str) -> np.ndarray:
    """Similarity of every query with every vector, by the definition."""
    a, b = queries.astype(float)[:, None, :], vectors.astype(float)[None, :, :]
    if similarity == "l2_norm":
        return -np.linalg.norm(a - b, axis=2)
    products = (a * b).sum(axis=2)
    return products if similarity == "dot_product" else products / np.linalg.norm(a, axis=2) / np.linalg.norm(b, axis=2)


def test_an_empty_index_can_be_published(opened: Open):
    index = opened()
    index.rebuild(8).publish(0)
    assert index.exists()
    assert index.count() == 0
    assert index.knn(units(1), 5) == [NOTHING]
    assert index.bm25(["text"], 5) == [NOTHING]


# vectors


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
@pytest.mark.parametrize("similarity", ["cosine", "dot_product", "l2_norm"])
def test_knn_is_what_numpy_finds(opened: Open, backend: str, kind: str, similarity: str):
    if backend == "local" and (kind, similarity) != ("flat", "cosine"):
        pytest.skip("the local backend has one kind of search, the exact one, by the cosine")
    vectors, queries = units(400, 24), units(15, 24, seed=1)
    ids = [f"c{number:03d}" for number in range(400)]
    index = opened(similarity=similarity, type=kind)
    fill(index, ids, vectors)

    scores = oracle(vectors, queries, similarity)
    for ranking, expected in zip(index.knn(queries, 20), scores, strict=True):
        best = np.argsort(-expected)[:20]
        assert ranking.ids == tuple(ids[i] for i in best)
        assert ranking.scores == pytest.approx(expected[best], abs=1e-5)


def test_ties_come_in_the_order_of_ids(opened: Open):
    ids = [f"c{number:02d}" for number in range(12)]
    shuffled = [ids[i] for i in np.random.default_rng(3).permutation(12)]
    index = opened()
    fill(index, [*shuffled, "best"], np.array([[0.6, 0.8]] * 12 + [[1, 0]], np.float32))
    ranking = index.knn(np.array([[1, 0]], np.float32), 6)[0]
    assert ranking.ids == ("best", *ids[:5])
    assert len(set(ranking.scores[1:])) == 1
    assert index.bm25(["text"], 6)[0].ids == ("best", *ids[:5])


# texts

ENGLISH = {
    "leave": "Parental leave is sixteen weeks for every parent, paid in full.",
    "travel": "Book travel through the agency; flights over six hours may be in premium economy.",
    "laptop": "A new laptop is ordered every four years. A broken laptop is replaced the next day.",
}
CHINESE = {
    "产假": "员工享有十六周的产假,工资照发。",
    "差旅": "差旅须通过代理预订,超过六小时的航班可以乘坐高级经济舱。",
    "电脑": "每四年更换一次笔记本电脑,损坏的电脑第二天更换。",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("parental LEAVE?", "leave"),
        ("When is my Laptop replaced", "laptop"),
        ("premium-economy flights", "travel"),
        ("产假有多少周?", "产假"),
        ("什么航班可以坐经济舱", "差旅"),
        ("笔记本电脑坏了", "电脑"),
    ],
)
def test_bm25_in_english_and_chinese(opened: Open, query: str, expected: str):
    index = opened()
    fill_texts(index, ENGLISH | CHINESE)
    assert index.bm25([query], 3)[0].ids[0] == expected


def test_bm25_finds_only_chunks_that_share_a_term(opened: Open):
    index = opened()
    fill_texts(index, ENGLISH)
    assert index.bm25(["laptop"], 3)[0].ids == ("laptop",)
    assert index.bm25(["penguin", "企鹅"], 3) == [NOTHING, NOTHING]


@pytest.mark.parametrize("query", ["", "  \n", "?!", "。,", '" ( :', "\ud800"])
def test_a_query_without_words_finds_nothing(opened: Open, query: str):
    index = opened()
    fill_texts(index, ENGLISH)
    assert index.bm25([query], 3) == [NOTHING]


@pytest.mark.parametrize(
    "query",
    [
        "laptop AND", 'text:laptop "', "laptop*~^[ TO }", "-laptop", "NOT laptop", "(laptop OR", "lap\\top laptop",
        "laptop\x00",
    ],
)  # fmt: skip
def test_a_query_is_words_never_a_syntax(opened: Open, query: str):
    index = opened()
    fill_texts(index, ENGLISH)
    assert index.bm25([query], 1)[0].ids == ("laptop",)


def test_odd_texts_are_taken(opened: Open):
    index = opened()
    odd = {
        "surrogate": "caf\ud800 alpha",
        "emoji": "👩‍👩‍👧 beta",
        "nul": "gamma\x00",
        "combining": "cafe\u0301 delta",
        "crlf": "a\r\nepsilon",
    }
    fill_texts(index, odd)
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    assert [ranking.ids for ranking in index.bm25(words, 5)] == [(chunk_id,) for chunk_id in odd]


# an index without vectors


def empty_rows(count: int) -> Vectors:
    """Vectors of no numbers, as an index without an embedder takes them."""
    return np.empty((count, 0), np.float32)


def test_an_index_without_vectors_ranks_by_words_as_one_with_them(opened: Open):
    plain, full = opened("words"), opened("vectors")
    fill(plain, list(ENGLISH), empty_rows(3), list(ENGLISH.values()))
    fill(full, list(ENGLISH), units(3), list(ENGLISH.values()))
    queries = ["parental LEAVE?", "a laptop", "penguin"]
    assert plain.bm25(queries, 3) == full.bm25(queries, 3)
    assert (plain.exists(), plain.count()) == (True, 3)
    assert 0 < plain.size() < full.size()
    plain.check(3)
    with pytest.raises(DamagedIndex, match="3 chunks, and 4 were built"):
        plain.check(4)


def test_vectors_are_refused_by_an_index_without_them(opened: Open):
    index = opened()
    fill(index, ["a"], empty_rows(1))
    with pytest.raises(SearchError, match=r"has no vectors.*rank by bm25"):
        index.knn(units(1), 3)
    for writer in (index.rebuild(0), index.update()):
        with pytest.raises(SearchError, match="8-d"):
            writer.add([chunk("b")], units(1))
        writer.abandon()
    assert index.count() == 1


# writers


def test_nothing_is_seen_until_it_is_published(opened: Open):
    index = opened()
    writer = index.rebuild(8)
    writer.add([chunk("a", "first")], units(1))
    assert (index.exists(), index.count(), index.knn(units(1), 3)) == (False, 0, [NOTHING])
    writer.publish(1)
    assert (index.exists(), index.count()) == (True, 1)
    assert index.size() > 0

    second = index.rebuild(8)
    second.add([chunk("b", "second"), chunk("c", "second")], units(2))
    assert index.count() == 1
    assert index.bm25(["first second"], 3)[0].ids == ("a",)
    second.publish(2)
    assert index.count() == 2
    assert index.bm25(["first second"], 3)[0].ids == ("b", "c")
    assert sorted(index.knn(units(1), 3)[0].ids) == ["b", "c"]


@pytest.mark.parametrize("expected", [1, 3])
def test_a_wrong_count_is_not_published(opened: Open, expected: int):
    index = opened()
    fill(index, ["old"], units(1))
    writer = index.rebuild(8)
    writer.add([chunk("a"), chunk("b")], units(2))
    with pytest.raises(SearchError, match=f"(?s)2.*{expected}|{expected}.*2"):
        writer.publish(expected)
    writer.abandon()
    assert index.count() == 1
    assert index.knn(units(1), 3)[0].ids == ("old",)


def test_abandon(opened: Open):
    index = opened()
    fill(index, ["old"], units(1))
    for writer in (index.rebuild(8), index.update()):
        writer.add([chunk("a")], units(1))
        writer.abandon()
        writer.abandon()
    assert index.knn(units(1), 3)[0].ids == ("old",)


def test_update_adds_replaces_and_deletes(opened: Open):
    index = opened()
    east, north, west = (np.array([row], np.float32) for row in ([1, 0], [0, 1], [-1, 0]))
    fill(index, ["keep", "change", "gone"], np.vstack([east, north, west]), ["kept", "early", "gone"])

    writer = index.update()
    writer.delete(["gone", "never there"])
    writer.add([chunk("change", "late"), chunk("new", "new")], np.vstack([west, north]))
    assert index.bm25(["gone"], 3)[0].ids == ("gone",)
    writer.publish(3)

    assert index.count() == 3
    assert [ranking.ids[0] for ranking in index.knn(np.vstack([east, north, west]), 1)] == ["keep", "new", "change"]
    assert [ranking.ids for ranking in index.bm25(["kept", "early", "late", "gone", "new"], 3)] == [
        ("keep",), (), ("change",), (), ("new",)
    ]  # fmt: skip


def random_texts(count: int, seed: int) -> list[str]:
    """Texts of 5 to 40 words each, out of 60."""
    random = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(60)]
    return [" ".join(random.choice(words, random.integers(5, 41))) for _ in range(count)]


@pytest.mark.parametrize("shards", [1, 3])
def test_after_updates_every_score_is_a_fresh_index_s(opened: Open, backend: str, shards: int):
    """Adds, replacements and removals: no word of a removed chunk may count in BM25 or in a fusion with it."""
    if (backend, shards) == ("local", 3):
        pytest.skip("the local backend has no shards")
    updated, fresh = opened("updated", shards=shards), opened("fresh", shards=shards)
    vectors, texts = units(500, seed=1), random_texts(500, seed=1)
    content = {f"c{number:03d}": number for number in range(200)}
    fill(updated, list(content), vectors[:200], texts[:200])
    for step in range(2):
        begin = 200 + 120 * step
        gone, replaced = list(content)[step::9], list(content)[step + 1 :: 7]
        new = {f"n{number}": number for number in range(begin, begin + 40)}
        for chunk_id in gone:
            del content[chunk_id]
        replaced = [chunk_id for chunk_id in replaced if chunk_id in content]
        writer = updated.update()
        writer.delete([*gone, "never there"])
        for part in (new, dict(zip(replaced, range(begin + 40, begin + 80), strict=False)),
                     dict(zip(replaced, range(begin + 80, begin + 120), strict=False))):  # fmt: skip
            content |= part
            writer.add([chunk(i, texts[number]) for i, number in part.items()], vectors[list(part.values())])
        writer.publish(len(content))
    fill(fresh, list(content), vectors[list(content.values())], [texts[number] for number in content.values()])

    queries = [" ".join(text.split()[:4]) for text in texts[:100]]
    directions = units(100, seed=2)
    ways = [
        lambda index: index.bm25(queries, 50),
        lambda index: hybrid(lambda _, depth: index.knn(directions, depth), index.bm25)(queries, 50),
    ]
    for way in ways:
        assert way(updated) == way(fresh)


def test_a_reader_opened_before_sees_what_is_published(opened: Open):
    reader, index = opened(), opened()
    assert reader.count() == 0
    fill(index, ["a"], units(1))
    assert reader.knn(units(1), 3)[0].ids == ("a",)
    fill(index, ["b"], units(1), ["other"])
    assert reader.knn(units(1), 3)[0].ids == ("b",)
    assert reader.bm25(["other"], 3)[0].ids == ("b",)
    index.drop()
    assert reader.count() == 0


def test_drop(opened: Open):
    index = opened()
    index.drop()
    fill(index, ["a"], units(1))
    index.drop()
    index.drop()
    assert (index.exists(), index.count(), index.size()) == (False, 0, 0)
    assert index.knn(units(1), 3) == [NOTHING]
    fill(index, ["b"], units(1))
    assert index.knn(units(1), 3)[0].ids == ("b",)


@pytest.mark.parametrize(
    "name",
    ["员工手册", "Ünïcode Größe", "../up", 'a/b\\c:d*e?f"g<h>i|j', "CON", ".", "🗂️", "x" * 300, "-_+", "a.b,c #1"],
)
def test_any_name(opened: Open, name: str):
    index = opened(name)
    fill(index, ["a"], units(1))
    assert opened(name).knn(units(1), 3)[0].ids == ("a",)
    assert opened(name).name == index.name
