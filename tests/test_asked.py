"""What people asked: logs read without anything of persons, clustered, and set against a set."""

import json
import math
import random
from collections import Counter
from itertools import combinations

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.question import Question
from ragviz.health import demand
from ragviz.index import indexing
from ragviz.questions import asked
from ragviz.questions.asked import Log
from ragviz.questions.formats import input_file
from ragviz.workspace import Workspace
from tests.builders import Bags, added, asking


def read(text, name="log.txt", keys=()):
    [file] = input_file.from_bytes(name, text.encode() if isinstance(text, str) else text)
    return asked.read_log(file, keys)


# Reading


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.txt", "How much?\nWhere is it?\nHOW MUCH\n"),
        ("log.csv", "question\nHow much?\nWhere is it?\nHOW MUCH\n"),
        ("log.csv", "time,user,query\n9:00,ada,How much?\n9:01,bob,Where is it?\n9:02,ada,HOW MUCH\n"),
        ("log.csv", "query;count\nHow much?;2\nWhere is it?;1\n"),
        ("log.tsv", "Query\tN\nHow much?\t2.0\nWhere is it?\t1\nNever?\t0\n"),
        ("log.jsonl", '{"user": "ada", "text": "How much?"}\n{"text": "Where is it?"}\n{"text": "HOW MUCH"}\n'),
        ("log.jsonl", '{"message": "How much?", "count": 2}\n{"message": "Where is it?"}\n'),
    ],
)
def test_logs_of_every_form_are_texts_and_counts(name, text):
    log = read(text, name)
    assert list(log.asked) == [("How much?", 2), ("Where is it?", 1)]


def test_nothing_of_persons_is_kept():
    text = "user,email,question\nada lovelace,ada@example.org,Why is ada@example.org locked out?\n"
    text += "bob,b@example.org,Call +44 20 7946 0958 about sk-secret-of-the-settings and order 4111 1111 1111 1111\n"
    text += "eve,e@x.org,Is https://eve:pass@example.org/?token=abc down?\n"
    log = read(text, "log.csv", keys=["sk-secret-of-the-settings"])
    whole = repr(log)
    for secret in ("lovelace", "ada@", "7946", "sk-secret", "4111", "eve", "pass", "abc"):
        assert secret not in whole, secret
    assert "2 other columns were not read" in log.notes[0]
    assert "user" not in log.notes[0]
    assert log.notes[1].endswith("taken out of 3 texts.")


# Clusters

LOG = [
    ("How do I reset my password?", 50),
    ("how can i reset the password", 20),
    ("Password reset: how?", 5),
    ("When does the library open on Sunday?", 30),
    ("What are the opening hours of pump 3?", 4),
    ("What are the opening hours of pump 4?", 3),
    ("Can I bring my dog?", 8),
]


def clusters(pairs_of):
    return demand.clusters_of(Log(tuple(pairs_of)), [], lambda _: False, lambda _: None, lambda *_: None)


def test_texts_of_the_same_words_are_one_cluster_led_by_the_most_asked():
    found = {each.text: each.count for each in clusters(LOG)}
    assert found == {
        "How do I reset my password?": 75,
        "When does the library open on Sunday?": 30,
        "What are the opening hours of pump 3?": 4,  # other numbers are other questions
        "What are the opening hours of pump 4?": 3,
        "Can I bring my dog?": 8,
    }


def test_a_text_joins_the_nearest_leader_with_its_numbers_by_a_loop():
    """Of all texts of four of nine words, as they are drawn: each by cosines that are computed pair by pair."""
    log = [(" ".join(f"zq{letter}k" for letter in some), 1000) for some in combinations("abcdefghi", 4)]
    random.Random(1).shuffle(log)
    log = [(text, count - place) for place, (text, count) in enumerate(log)]
    own = {text: frozenset(text.split()) for text, _ in log}
    df = Counter(word for each in own.values() for word in each)
    idf = {word: 1 + math.log((1 + len(log)) / (1 + count)) for word, count in df.items()}

    def cosine(one, other):
        both, first, second = (sum(idf[w] ** 2 for w in words) for words in (one & other, one, other))
        return both / math.sqrt(first * second)

    leads = {}
    for text, count in log:
        near = [(round(cosine(own[text], own[lead]), 6), lead) for lead in leads]
        best = max(near, key=lambda each: each[0], default=(0, ""))
        if best[0] >= demand.SAME_WORDS:
            leads[best[1]] += count
        else:
            leads[text] = count
    assert 5 < len(leads) < 300
    assert {each.text: each.count for each in clusters(log)} == leads


# A set and its documents

LIBRARY = "The library opens at ten on Sunday."
PASSWORD = "Reset your password on the account page."
TEXT = f"# Rules\n\n{LIBRARY}\n\n{PASSWORD}\n\nA parking permit costs 20 euros a month.\n"


@pytest.fixture
def workspace(workspace, monkeypatch):
    monkeypatch.setattr(Workspace, "embedder", lambda *_: Bags())
    return workspace


@pytest.fixture
def asked_set(workspace):
    """A set of two questions with evidence, five more, and five unanswerable ones, with an index of BM25."""
    filler = "".join(f"\n\nThe garden of house {n} has {n} trees and a gate of type {n}." for n in range(3, 8))
    corpus = added(workspace, "rules", {"rules.md": TEXT + filler})
    rows = [(PASSWORD, "How do I reset my password?"), (LIBRARY, "When does the library open on Sunday?")]
    rows += [(f"house {n} has {n} trees", f"How many trees has the garden of house {n}?") for n in range(3, 8)]
    question_set = asking(workspace, corpus, [("rules.md", *row, "The answer.") for row in rows], "s")
    unknown = ["zebra", "unicorn", "submarine", "volcano", "telescope"]
    unanswerable = [Question(word, f"Who paints the {word} blue?", "", (), "hand") for word in unknown]
    workspace.store.questions.put(question_set.id, unanswerable)
    indexing.build_index(workspace, corpus, "terms", IndexConfig(chunk_size=30, embedder=""))
    return question_set


LOGGED = Log((*LOG, ("What does a parking permit cost a month?", 12), ("Is the swimming hall heated?", 7)))


def examined(workspace, question_set, log=LOGGED, index="terms"):
    found = workspace.store.indexes.get(index) if index else None
    return demand.examine(workspace, question_set, log, "log.csv", found)


def test_a_log_is_set_against_the_set(workspace, asked_set):
    read_demand = examined(workspace, asked_set)
    assert {each.text: each.question for each in read_demand.clusters if each.question} == {
        "How do I reset my password?": "q0", "When does the library open on Sunday?": "q1",
    }  # fmt: skip
    assert [(each.text, each.count) for each in read_demand.unasked][:3] == [
        ("What does a parking permit cost a month?", 12), ("Can I bring my dog?", 8),
        ("Is the swimming hall heated?", 7),
    ]  # fmt: skip
    assert read_demand.share == pytest.approx(105 / 139)  # 75 + 30 of 139


def test_one_press_adds_what_the_set_lacks(workspace, asked_set):
    demand.store(workspace, asked_set, examined(workspace, asked_set))
    wanted = ["What does a parking permit cost a month?", "Can I bring my dog?", "How do I reset my password?"]
    permit, dog = demand.add(workspace, asked_set, wanted)  # the third one is in the set
    assert (permit.status, permit.reason, permit.answer) == ("quarantined", demand.NO_EVIDENCE, "")
    assert (dog.text, dog.generator) == ("Can I bring my dog?", "log")
    assert demand.add(workspace, asked_set, wanted) == []
    assert {each.text for each in demand.stored(workspace, asked_set).unasked}.isdisjoint(wanted)
    assert workspace.store.versions.all(asked_set.id)[0].action == "added from what people ask"


def test_the_command_reads_a_log_and_shows_it(workspace, asked_set, command_line, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(
        "user,question,count\n" + "".join(f"ada,{text},{count}\n" for text, count in LOGGED.asked), encoding="utf-8"
    )
    code, out, err = command_line("questions", "asked", "s")
    assert (code, "give a log" in err) == (2, True)
    code, out, err = command_line("questions", "asked", "s", log, "--index", "terms", "--json")
    assert code == 0, err
    body = json.loads(out)
    assert body["asked"] == 139
    assert body["share"] == pytest.approx(105 / 139)
    assert "ada" not in out.replace("read", "")
    code, out, _ = command_line("questions", "asked", "s")
    assert code == 0
    assert "What does a parking permit cost a month?" in out
    code, _, err = command_line("questions", "asked", "s", tmp_path / "gone.csv")
    assert (code, "cannot be opened" in err) == (2, True)
