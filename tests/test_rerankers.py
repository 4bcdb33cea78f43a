"""Rerankers against truth: MaxSim by hand and by a naive loop, and each through a run, the command line and a page."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking
from ragviz.index import indexing
from ragviz.models import token_vectors, weights
from ragviz.models.token_vectors import unit
from ragviz.retrieval import cross_encoder_reranker, listwise, maxsim_reranker, search
from ragviz.retrieval.reranking import Candidates, Parts
from ragviz.runs import comparisons, measurements, running
from ragviz.workspace import Workspace
from tests.builders import added
from tests.builders import asking as set_of
from tests.model_server import complete

WORDS = {"cat": (1.0, 0.0), "dog": (0.6, 0.8), "fish": (0.0, 2.0), "zero": (0.0, 0.0)}
"""Vectors of words that are not all of unit length: their cosines are 0.6 (cat, dog), 0 and 0.8 (dog, fish)."""


class Encoder:
    """Vectors of words, in batches of two texts, the last ones first; remembers what it was asked."""

    def __init__(self):
        self.asked: list[tuple[str, str]] = []

    def __call__(self, texts, kind):
        self.asked += [(text, kind) for text in texts]
        places = list(range(len(texts)))[::-1]
        for start in range(0, len(places), 2):
            batch = places[start : start + 2]
            yield batch, [np.array([WORDS[w] for w in texts[p].split()], np.float32).reshape(-1, 2) for p in batch]


def candidates(question: str, *texts: str) -> Candidates:
    ids = tuple(f"c{place}" for place in range(len(texts)))
    return Candidates(question, Ranking(ids, (0.0,) * len(ids)), texts)


# maxsim


def test_maxsim_by_hand():
    """ "cat fish" finds 0.6 and 0.8 in "dog", 1 and 0 in "cat", 1 and 1 in "fish cat"; its mean is half of the sum."""
    score = maxsim_reranker.scorer(token_vectors.KeptPassages(Encoder()), Parts())
    ((dog, cat, both, empty, zero),) = score([candidates("cat fish", "dog", "cat", "fish cat", "", "zero")])
    assert (dog, cat, both, empty, zero) == pytest.approx((0.7, 0.5, 1.0, -1.0, 0.0), abs=1e-3)
    assert score([candidates("", "dog", "cat")]) == [[-1.0, -1.0]]
    assert score([]) == []


def naive(query: np.ndarray, passages: list[np.ndarray]) -> list[float]:
    scores = []
    for passage in passages:
        best = []
        for q in query:
            cosines = [float(q @ p) / (np.linalg.norm(q) * np.linalg.norm(p)) for p in passage]
            if cosines:
                best.append(max(cosines))
        scores.append(sum(best) / len(best) if best else -1.0)
    return scores


@given(st.integers(0, 5), st.lists(st.integers(0, 6), max_size=8), st.integers(0, 10_000))
def test_maxsim_is_the_naive_loop(length, sizes, seed):
    random = np.random.default_rng(seed)
    query = random.normal(size=(length, 4)).astype(np.float32)
    passages = [random.normal(size=(size, 4)).astype(np.float32) for size in sizes]
    stacked = np.concatenate([np.empty((0, 4), np.float32), *passages])
    scores = maxsim_reranker.maxsim(unit(query), unit(stacked), np.array(sizes, dtype=np.intp))
    assert scores.tolist() == pytest.approx(naive(query, passages), abs=1e-5)


@pytest.mark.model
def test_token_vectors_are_the_models_last_hidden_state():
    """As transformers computes it for each text by itself, without the tokens that begin and end it."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = weights.packaged()
    texts = ["Dogs bark at cats.", "", "The quick brown fox, " * 100, "Fish"]
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    got: dict[int, np.ndarray] = {}
    for places, batch in token_vectors.encode_by(weights.PACKAGED)(texts, "passage"):
        got |= dict(zip(places, batch, strict=True))
    for place, text in enumerate(texts):
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=256)
        with torch.inference_mode():
            expected = model(**tokens).last_hidden_state[0, 1:-1].numpy()
        assert got[place].shape == expected.shape
        assert got[place] == pytest.approx(expected, abs=1e-4)


def tiny(folder: Path, words: str, labels: int = 1) -> Path:
    """Save a cross-encoder of random weights that knows these words, made with transformers alone."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    vocabulary = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted(set(words.split()))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(
        vocab_size=len(vocabulary), max_position_embeddings=64, initializer_range=0.6, num_labels=labels, **sizes
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


PAIRS = ["dogs bark at cats", "cats purr", "", "fish swim " * 60, "cats purr at dogs bark"]


@pytest.mark.model
def test_a_cross_encoder_scores_as_predict_does(tmp_path):
    from sentence_transformers import CrossEncoder

    folder = tiny(tmp_path / "tiny", " ".join(PAIRS) + " who")
    seen: list[tuple[int, int]] = []
    parts = Parts(str(folder), progress=lambda done, total, unit, message="": seen.append((done, total)))
    score = cross_encoder_reranker.build(parts)
    texts = PAIRS * 20  # each pair is scored once
    first, second = score([candidates("who bark", *texts), candidates("who swim", *PAIRS[:2])])
    model = CrossEncoder(str(folder))
    expected = [float(model.predict([("who bark", text)])[0]) for text in PAIRS]
    assert first == pytest.approx(expected * 20, abs=1e-5)
    assert second == pytest.approx([float(model.predict([("who swim", text)])[0]) for text in PAIRS[:2]], abs=1e-5)
    assert len({round(number, 6) for number in expected}) == len(PAIRS)
    assert seen[-1] == (7, 7)


DOCUMENT = """The north pump was replaced by Harlow in spring.

The invoice for the south pump names Harlow, and the north pump too, and what both cost in a year.

A visitor asked when the chapel was painted."""
QUOTE = "The north pump was replaced by Harlow in spring."
ASKED = {"q0": "Who replaced the north pump?", "none": "Who painted the chapel?"}


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    corpus = added(workspace, "pumps", {"pumps.txt": DOCUMENT})
    indexing.build_index(workspace, corpus, "i", IndexConfig(chunk_size=30, chunker="sentences"))
    question_set = set_of(workspace, corpus, [("pumps.txt", QUOTE, ASKED["q0"], "Harlow.")], "q")
    workspace.store.questions.put(question_set.id, [Question("none", ASKED["none"], "", (), "hand", unanswerable=True)])
    return workspace


def config(workspace: Workspace, **more) -> RunConfig:
    index, questions = workspace.store.indexes.get("i").id, workspace.store.sets.get("q").id
    return RunConfig(**{"index": index, "questions": questions, "reranker": "maxsim", **more})


@pytest.mark.model
def test_a_run_reranks_what_its_retriever_finds(workspace):
    seen: list[str] = []
    plain = running.run(workspace, "plain", config(workspace, reranker="none", rerank_depth=7))
    assert plain.config.rerank_depth == 50
    assert "reranker" not in plain.provenance["identity"]
    run = running.run(workspace, "r", config(workspace), progress=lambda *words: seen.append(words[-1]))
    assert run.config.ranked_by == "knn + maxsim"
    assert run.provenance["identity"]["reranking"].startswith("maxsim 1 by all-MiniLM-L6-v2#")
    assert run.provenance["reranking"]["questions"] == len(ASKED)
    assert run.provenance["reranking"]["seconds"] > 0
    assert any(words.startswith("Embedding the tokens of chunks: 0 of ") for words in seen)
    before, after = (measurements.results_of(workspace, each) for each in (plain, run))
    for one, other in zip(before, after, strict=True):
        assert sorted(one.ranking.ids) == sorted(other.ranking.ids)
        texts = search.texts_of(workspace, run.corpus_id)(other.ranking.ids)
        question = ASKED[other.question_id]
        encode = token_vectors.encode_by(weights.PACKAGED)
        query = next(encode([question], "query"))[1][0]
        expected = naive(query, [next(encode([text], "passage"))[1][0] for text in texts])
        assert other.ranking.scores == pytest.approx(expected, abs=2e-3)
    compared = comparisons.compare_runs(workspace, [plain, run])
    assert [(s.key, s.values) for s in compared.settings] == [("reranker", ("none", "maxsim"))]


# model


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ([3, 1, 2, 4], [3, 1, 2, 4]),
        ([4], [4, 1, 2, 3]),
        ([2, 2, 9, 0, 2, 4], [2, 4, 1, 3]),
        ("[3] > [1]", [3, 1, 2, 4]),
        (["passage 2", "4."], [2, 4, 1, 3]),
        ([1.0, 3.0], [1, 3, 2, 4]),
        ("none of them helps", [1, 2, 3, 4]),
        ([], [1, 2, 3, 4]),
    ],
)
def test_odd_rankings_are_read_and_what_they_leave_out_keeps_its_order(reply, expected):
    parsed = listwise.RankingReply.model_validate({"ranking": reply})
    assert listwise.order(parsed.ranking, 4) == expected
    check = listwise.request("Who?", ["a", "b", "c", "d"]).check
    assert check is not None
    assert bool(check(parsed)) == (not any(number in parsed.ranking for number in (1, 2, 3, 4)))


@pytest.fixture
def asking(workspace, server, monkeypatch) -> Workspace:
    """The same workspace with an endpoint."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("RAGVIZ_MODEL", "loopback")
    more = {"openai_base_url": server.url, "model": "loopback", "model_concurrency": 1}
    return Workspace(workspace.settings.model_copy(update=more))


@pytest.mark.model
def test_a_model_reranks_by_one_call_for_each_question(asking, server):
    """The loopback model ranks by the words that a passage shares with the question; ties keep their order."""
    chosen = config(asking, retriever="bm25", reranker="model", rerank_depth=20)
    estimate = running.foresee(asking, chosen)
    before = running.run(asking, "before", config(asking, retriever="bm25", reranker="none"))
    run = running.run(asking, "r", chosen)
    made = len(server.chats)
    assert run.config.reranker == "model:loopback"
    assert run.provenance["identity"]["reranking"].startswith("model 1 by loopback at 127.0.0.1:")
    rankings = [measurements.results_of(asking, each) for each in (before, run)]
    asked = sum(len(result.ranking.ids) > 1 for result in rankings[0])
    assert estimate.calls == {"reranking": asked}
    assert (made, estimate.cached) == (asked, 0)
    assert run.provenance["reranking"]["calls"] == asked > 0
    for question, first, second in zip(ASKED.values(), *rankings, strict=True):
        if len(first.ranking.ids) > 1:
            texts = search.texts_of(asking, run.corpus_id)(first.ranking.ids)
            request = listwise.request(question, texts)
            schema = {"json_schema": {"schema": request.reply.model_json_schema()}}
            reply = json.loads(complete({"messages": request.messages, "response_format": schema}))["ranking"]
            assert second.ranking.ids == tuple(first.ranking.ids[number - 1] for number in reply)
            assert second.ranking.scores == tuple(map(float, range(len(reply), 0, -1)))
    assert asking.store.payments.of(run.id).calls == made
    again = running.foresee(asking, chosen)
    assert (again.total, again.cached) == (asked, asked)
    assert running.run(asking, "s", chosen).status == "done"
    assert len(server.chats) == made
