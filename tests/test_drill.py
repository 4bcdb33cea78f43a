"""Drills: planted losses that are known by counting, false alarms, what stays untouched."""

import json

import numpy as np
import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.health import drill, health_sentences
from ragviz.index import indexing
from ragviz.jobs import queue
from ragviz.stats.clusters import independent_clusters
from tests.builders import added, asking

N = 40
PLAIN = IndexConfig(embedder="", chunk_size=200)


def unique(number):
    """Six words that no other document holds."""
    return " ".join(f"{stem}{chr(97 + number // 26)}{chr(97 + number % 26)}" for stem in
                    ("rumo", "telk", "vasi", "pona", "zuld", "kref"))  # fmt: skip


def text_of(number):
    return f"{unique(number)} costs {1000 + 7 * number} in 2023 there.\n"


def filled(workspace, texts, questions):
    """A corpus of these texts by name, an index by words, and a set of questions made of (document, quote, answer)."""
    corpus = added(workspace, "corpus", texts)
    indexing.build_index(workspace, corpus, "index", PLAIN)
    rows = [(name, quote, f"{quote}?", answer) for name, quote, answer in questions]
    return asking(workspace, corpus, rows, "set"), workspace.store.indexes.get("index")


@pytest.fixture
def forty(workspace):
    """Forty documents of one chunk, with words of their own, and a question about each."""
    texts = {f"{n:02d}.md": text_of(n) for n in range(N)}
    questions = [(f"{n:02d}.md", unique(n), f"It costs {1000 + 7 * n}.") for n in range(N)]
    return workspace, *filled(workspace, texts, questions)


def drilled(workspace, question_set, info, **options):
    return drill.drill(workspace, question_set, info, **{"k": 1, "repetitions": 4} | options)


def test_leaving_out_the_evidence_of_n_of_40_questions_costs_n_fortieths_of_recall(forty):
    """2, 3, 5, 7 and 10 points of 40 questions are 0.8, 1.2, 2, 2.8 and 4 questions: rounded, 1, 1, 2, 3 and 4."""
    fact = drilled(*forty)
    assert (fact["baseline"], fact["questions"], fact["chunks"], fact["documents"]) == (1.0, 40, 40, 40)
    assert [row["planted"] for row in fact["losses"]] == pytest.approx([n / 40 for n in (1, 1, 2, 3, 4)])
    assert all((row["repetitions"], row["reason"]) == (4, "") for row in fact["losses"])
    # Every wording finds its document. The interval of 4 of 40 is -0.1 ± 2.02 · sqrt(0.1 · 0.9 / 39), -0.197 … -0.003,
    # but with the degrees of freedom of so few losses it holds 0.
    assert [row["worse"] for row in fact["losses"]] == [0] * 5
    assert fact["false_alarms"] == {"repetitions": 400, "worse": 0}
    assert health_sentences.drill(fact).startswith("This set notices 0 % of planted losses of 5 points of recall@1")


def test_a_set_of_twenty_questions_cannot_plant_two_points(workspace):
    texts = {f"{n:02d}.md": text_of(n) for n in range(20)}
    fact = drilled(workspace, *filled(workspace, texts, [(name, text[:35], "") for name, text in texts.items()]))
    assert fact["losses"][0]["reason"] == "2 points of 20 questions are less than half a question"
    assert [row["planted"] for row in fact["losses"]] == pytest.approx([0, 1 / 20, 1 / 20, 1 / 20, 2 / 20])


def test_the_sentence_names_the_smallest_loss_from_which_on_all_are_noticed():
    worse = {0.02: 3, 0.03: 17, 0.05: 12, 0.07: 16, 0.10: 20}
    rows = [{"loss": loss, "repetitions": 20, "worse": n, "reason": ""} for loss, n in worse.items()]
    alarms = {"repetitions": 400, "worse": 3}
    fact = {"losses": rows, "false_alarms": alarms, "metric": "recall@3"}
    said = health_sentences.drill(fact)
    assert "notices 60 % of planted losses of 5 points of recall@3 at a false-alarm rate of 0.8 %" in said
    assert "losses are mostly noticed from 7 points on" in said
    rows[-1]["worse"] = 15
    assert "not even losses of 10 points are mostly noticed" in health_sentences.drill(fact)


def test_a_comparison_calls_five_losses_of_forty_worse_and_four_not(forty):
    """Student's t of 40 differences of which four or five are −1, with the degrees of freedom of so few."""
    columns = np.array([[-1.0 * (place < 4), -1.0 * (place < 5), 1.0 * (place < 5)] for place in range(N)])
    assert drill.called_worse(columns, independent_clusters(N), "recall@1") == [False, True, False]


def test_false_alarms_are_near_their_nominal_rate(workspace):
    """Two-sided p ≤ 0.05: at most 2.5 % of comparisons of equals are called worse.

    Documents share their words, so that other wordings of a question find other chunks.
    """
    draw = np.random.default_rng(3)
    vocabulary = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}rd" for n in range(60)]
    texts = {f"{n:03d}.md": " ".join(draw.choice(vocabulary, 25)) for n in range(120)}
    asked = [(name, " ".join(text.split()[3:7]), "") for name, text in texts.items()]
    fact = drilled(workspace, *filled(workspace, texts, asked), repetitions=1)
    alarms = fact["false_alarms"]
    assert 0.2 < fact["baseline"] < 0.95  # there is something to differ by
    assert alarms["repetitions"] == 400
    assert 0 < alarms["worse"] <= 0.045 * 400  # 10 are expected; three standard errors above are 19


def test_nothing_of_the_persons_is_changed(forty):
    workspace, question_set, info = forty
    store = workspace.store
    folder = workspace.settings.home / "indexes"

    def state():
        files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        owners = store.revisions(info.corpus_id, info.id)
        return (
            files,
            owners,
            store.indexes.get("index"),
            store.documents.all(info.corpus_id),
            store.questions.all(question_set.id),
        )

    before = state()
    drilled(workspace, question_set, info)
    assert state() == before
    assert store.sets.get("set").version == question_set.version
    assert store.runs.all() == []


def test_the_command_line_keeps_the_drill_with_the_set_as_a_job(forty, command_line):
    workspace, question_set, _ = forty
    words = ("questions", "drill", "set", "--index", "index", "-k", 1, "--repetitions", 2)
    body = json.loads(command_line(*words, "--json")[1])
    fact = drill.stored(workspace, question_set)
    assert body == fact | {"words": health_sentences.drill(fact)}
    assert (body["index"], body["retriever"], body["losses"][2]["repetitions"]) == ("index", "bm25", 2)
    assert "called worse" in command_line(*words)[1]
    assert [job.kind for job in queue.listed(workspace)] == ["drill", "drill"]
    code, _, err = command_line("questions", "drill", "set", "--index", "index", "--retriever", "knn")
    assert (code, "compares vectors" in err) == (2, True)
