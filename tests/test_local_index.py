"""The local index: exact against NumPy, BM25 against the formula, and what happens when things break."""

import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.backends import exact
from ragviz.backends import generations as generations_module
from ragviz.backends import local as files
from ragviz.backends.exact import nearest
from ragviz.backends.local import LocalIndex
from ragviz.core.errors import SearchError
from ragviz.models.vectors import Vectors
from ragviz.text.normal_form import terms
from tests.test_elastic import chunk, units


def add(writer: files.LocalWriter, texts: dict[str, str], seed: int = 0) -> None:
    writer.add([chunk(chunk_id, text) for chunk_id, text in texts.items()], units(len(texts), seed=seed))


def fill(index: LocalIndex, texts: dict[str, str], seed: int = 0) -> None:
    writer = index.rebuild(8)
    add(writer, texts, seed)
    writer.publish(len(texts))


def generations(index: LocalIndex) -> list[str]:
    return sorted(path.name for path in index.folder.glob("gen-*"))


@pytest.fixture
def index(tmp_path: Path) -> LocalIndex:
    return LocalIndex("handbook", tmp_path)


# exact search


def brute(vectors: Vectors, query: np.ndarray) -> np.ndarray:
    """Cosines by the definition, in more digits than float64 has, rounded to float32."""
    v, q = vectors.astype(np.longdouble), query.astype(np.longdouble)
    products = (v * q).sum(axis=1) / (np.sqrt((v**2).sum(axis=1)) * np.sqrt((q**2).sum()))
    return products.astype(np.float32)


@settings(max_examples=60)
@given(
    count=st.integers(1, 3000),
    dims=st.integers(1, 40),
    depth=st.integers(1, 120),
    spread=st.sampled_from([1.0, 1e-6]),
    copies=st.sampled_from([0, 1, 40]),
    seed=st.integers(0, 2**16),
)
def test_nearest_is_exact(count, dims, depth, spread, copies, seed):
    """Also where the vectors are so near to each other that a product in float32 cannot separate them."""
    rng = np.random.default_rng(seed)
    vectors = (rng.standard_normal(dims) + spread * rng.standard_normal((count, dims))).astype(np.float32)
    vectors[rng.integers(0, count, copies)] = vectors[0]
    queries = np.vstack([vectors[:1], rng.standard_normal((3, dims))]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for query, (rows, scores) in zip(queries, nearest(vectors, queries, depth), strict=True):
        expected = brute(vectors, query)
        best = np.argsort(-expected, kind="stable")[:depth]
        assert rows.tolist() == best.tolist()
        assert scores.tolist() == expected[best].tolist()


def test_ties_across_the_depth_are_broken_by_id(index: LocalIndex, monkeypatch: pytest.MonkeyPatch):
    """Five thousand equal chunks, in the vectors and in the words, over several segments of Tantivy."""
    append = generations_module.Bm25File.append

    def append_a_segment(self: generations_module.Bm25File, start: int, words: Sequence[str]) -> None:
        append(self, start, words)
        self.writer.commit()

    monkeypatch.setattr(exact, "BLOCK_ROWS", 1000)
    monkeypatch.setattr(generations_module.Bm25File, "append", append_a_segment)
    ids = [f"c{number:04d}" for number in np.random.default_rng(1).permutation(6000)]
    same = units(1)[0]
    vectors = np.vstack([np.tile(same, (5000, 1)), units(1000, seed=2)])
    texts = ["handbook page"] * 5000 + ["handbook " + "filler " * (2 + number % 7) for number in range(1000)]
    writer = index.rebuild(8)
    for start in range(0, 6000, 1000):
        some = slice(start, start + 1000)
        writer.add([chunk(i, t) for i, t in zip(ids[some], texts[some], strict=True)], vectors[some])
    writer.publish(6000)
    expected = tuple(sorted(ids[:5000])[:50])
    assert index.knn(same[None], 50)[0].ids == expected
    assert index.bm25(["handbook"], 50)[0].ids == expected


def test_a_score_does_not_depend_on_the_other_queries(index: LocalIndex):
    fill(index, {f"c{number:04d}": "text" for number in range(2000)})
    queries = units(300, seed=5)
    assert index.knn(queries, 20) == [index.knn(query[None], 20)[0] for query in queries]


# BM25


def bm25_by_the_formula(texts: dict[str, str], query: str) -> dict[str, float]:
    """Robertson's BM25 with k1 1.2 and b 0.75, as Lucene weighs terms and keeps lengths."""
    documents = {key: Counter(terms(text)) for key, text in texts.items()}
    mean = sum(sum(d.values()) for d in documents.values()) / len(documents)
    scores = {}
    for key, counts in documents.items():
        score = 0.0
        for term in terms(query):
            holding = sum(term in d for d in documents.values())
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            norm = 1.2 * (1 - 0.75 + 0.75 * kept_length(sum(counts.values())) / mean)
            score += idf * counts[term] * 2.2 / (counts[term] + norm)
        if score:
            scores[key] = score
    return scores


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It costs 3\u00a0000\u202f€, not 1,250.50 or 3 000 €", "it costs 3000 not 1250 50 or 3000"),
        ("5km, 2½ m², 2024-05-01, A4B7C", "5 km 2 1 2 m2 2024 05 01 a4b7c"),
        ("columns 100 200 300", "columns 100 200 300"),
        ("Bu\u0308ro STRASSE Straße", "büro strasse strasse"),
        ("so\u00adft\u200bly \ufb01nal donʼt", "softly final don t"),
        ("\u0663\u0664 كتاب", "34 كتاب"),
        ("航程５km", "航 程 航程 5 km"),
        ("도서관은 시간", "도서관은 도서 서관 관은 시간"),
    ],
)
def test_words_that_are_written_differently_are_the_same(text, words):
    assert terms(text) == words.split()


def kept_length(length: int) -> int:
    """A text's number of terms as Lucene and Tantivy keep it in a byte: what is above 24 has four bits that count."""
    above = max(length - 24, 0)
    lost_bits = max(above.bit_length() - 4, 0)
    return length - above + (above >> lost_bits << lost_bits)


def test_bm25_is_the_formula(index: LocalIndex):
    rng = np.random.default_rng(0)
    words = [*"abcdefghij", *"产假工资"]
    texts = {f"c{n:02d}": " ".join(rng.choice(words, rng.integers(1, 30))) for n in range(60)}
    fill(index, texts)
    for query in ("a", "a b", "b b 产", "i 工 e a", "z"):
        expected = bm25_by_the_formula(texts, query)
        ranking = index.bm25([query], 60)[0]
        assert dict(zip(ranking.ids, ranking.scores, strict=True)) == pytest.approx(expected, rel=1e-5)
        assert ranking.scores == tuple(sorted(ranking.scores, reverse=True))


# generations


def test_an_update_leaves_the_files_of_a_rebuild(tmp_path: Path):
    updated, rebuilt = LocalIndex("updated", tmp_path), LocalIndex("rebuilt", tmp_path)
    fill(updated, {"a": "alpha", "b": "beta 产假", "d": "delta"})
    writer = updated.update()
    writer.delete(["d"])
    add(writer, {"c": "gamma", "b": "changed"}, seed=1)
    writer.publish(3)

    old, new = units(3), units(2, seed=1)
    writer = rebuilt.rebuild(8)
    writer.add([chunk("c", "gamma"), chunk("b", "changed"), chunk("a", "alpha")], np.vstack([new, old[:1]]))
    writer.publish(3)

    one, two = (index.folder / str(index.live_name()) for index in (updated, rebuilt))
    for name in ("ids.npy", "meta.json", "rows/vectors.f32", "rows/terms.txt", "rows/ends.npy"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    queries = ["alpha changed", "gamma", "beta delta"]
    assert updated.bm25(queries, 9) == rebuilt.bm25(queries, 9)


def test_the_old_generation_is_deleted_and_its_reader_goes_on(index: LocalIndex):
    fill(index, {"a": "old words"})
    generation = index.live()
    fill(index, {"b": "new words"})
    assert generation is not None
    assert generations(index) == [index.live_name()]
    if os.name == "posix":
        assert generation.matching(["old"], 3)[0][1] == 0
        assert generation.rows.terms(0) == "old words"
        assert np.allclose(generation.rows.vectors, units(1))


def test_the_second_of_two_updates_is_refused(index: LocalIndex):
    fill(index, {"a": "alpha"})
    first, second = index.update(), index.update()
    add(first, {"b": "beta"})
    add(second, {"c": "gamma"})
    first.publish(2)
    with pytest.raises(SearchError, match=r"changed by another writer.*Update it again"):
        second.publish(2)
    second.abandon()
    assert index.knn(units(1), 5)[0].ids == ("a", "b")
    assert len(generations(index)) == 1


# other processes

CRASH = """
import os, sys
import numpy as np
from pathlib import Path
from ragviz.backends.local import LocalIndex
from ragviz.core.document import Chunk
writer = LocalIndex("handbook", Path(sys.argv[1])).rebuild(8)
writer.add([Chunk("x", "d", 0, 1, "x", 1)], np.ones((1, 8), np.float32))
os._exit(9)
"""
READ = """
import sys
import numpy as np
from pathlib import Path
from ragviz.backends.local import LocalIndex
index = LocalIndex("handbook", Path(sys.argv[1]))
for _ in sys.stdin:
    vectors = np.ones((1, 8), np.float32)
    print(index.count(), *index.bm25(["words"], 5)[0].ids, *index.knn(vectors, 5)[0].ids, flush=True)
"""


def test_what_a_crashed_writer_left_is_swept_and_a_running_one_is_not(index: LocalIndex, tmp_path: Path):
    running = index.rebuild(8)
    crashed = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path)], check=False)
    assert crashed.returncode == 9
    assert len(generations(index)) == 2
    fill(index, {"a": "alpha"})
    assert set(generations(index)) == {running.folder.name, index.live_name()}
    add(running, {"b": "beta"})
    running.publish(1)
    assert generations(index) == [running.folder.name]


def test_another_process_sees_what_is_published(index: LocalIndex, tmp_path: Path):
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None

        def read() -> str:
            print(file=reader.stdin, flush=True)
            return reader.stdout.readline().strip()

        assert read() == "0"
        fill(index, {"a": "old words"})
        assert read() == "1 a a"
        fill(index, {"b": "new words"})
        assert read() == "1 b b"
        index.drop()
        assert read() == "0"
        reader.stdin.close()


# damage


@pytest.mark.parametrize(
    "file", ["meta.json", "ids.npy", "rows/vectors.f32", "rows/terms.txt", "rows/ends.npy", "bm25/meta.json"]
)
@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "other"])
def test_damaged_files_are_reported(index: LocalIndex, file: str, damage: str):
    fill(index, {"a": "alpha", "b": "beta"})
    path = index.folder / str(index.live_name()) / file
    content = path.read_bytes()
    path.unlink()  # a file that is cut while it is mapped ends the process (SIGBUS)
    if damage != "missing":
        path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "other": b"[1]\n"}[damage])
    reader = LocalIndex("handbook", index.folder.parent)
    for search in (reader.count, reader.update, lambda: reader.knn(units(1), 3), lambda: reader.bm25(["alpha"], 3)):
        with pytest.raises(SearchError, match=r"'handbook' cannot be read \(.*\); rebuild it"):
            search()
    fill(reader, {"c": "gamma"})
    assert reader.bm25(["gamma"], 3)[0].ids == ("c",)


def test_a_damaged_segment_is_reported(index: LocalIndex):
    fill(index, {"a": "alpha", "b": "beta"})
    for path in (index.folder / str(index.live_name()) / "bm25").glob("*.term"):
        content = path.read_bytes()[:-5]
        path.unlink()
        path.write_bytes(content)
    with pytest.raises(SearchError, match=r"cannot be read \(.*\); rebuild it"):
        LocalIndex("handbook", index.folder.parent).bm25(["alpha"], 3)
