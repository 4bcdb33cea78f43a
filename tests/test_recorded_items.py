"""Items of other systems: where their contexts stand, which questions they answer, what is known of them then."""

import json

import pytest

from ragviz.analysis.ties import Price
from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Span
from ragviz.core.errors import Cancelled
from ragviz.core.question import Question
from ragviz.index import indexing
from ragviz.questions import occurrences
from ragviz.runs import comparisons, exports, imports, judgements, measurements, overviews
from ragviz.service import question_verbs
from ragviz.targets.logged_item import Log, LoggedItem, Passage

TEXT = "The north pump was replaced in 1998 by Harlow. It cost 40 euros. Dogs stay outside. The roof is 12 m high."
ZH = "北泵于一九九八年由哈洛更换。费用为四十欧元。狗必须留在外面。屋顶高十二米，每年检查一次。"


def stored(workspace, **texts):
    corpus = workspace.store.corpora.add("c")
    for name, text in texts.items():
        workspace.store.documents.add(corpus.id, imports._document(f"{name}.md", text))
    return corpus


def item(identity, *contexts, **more):
    read = tuple(each if isinstance(each, Passage) else Passage(each) for each in contexts)
    return LoggedItem(identity, more.pop("question", f"What of {identity}?"), more.pop("reference", "1998"),
                      more.pop("answer", "1998"), read, **more)  # fmt: skip


def recorded(workspace, corpus, *items, name="r", question_set=None):
    return imports.import_run(workspace, corpus, name, Log(items, (), "theirs"), question_set)


def test_a_context_stands_verbatim_or_in_normal_form_or_nearly_or_nowhere(workspace):
    corpus = stored(workspace, a=TEXT, b=ZH)
    run = recorded(
        workspace,
        corpus,
        item("1", "It cost 40 euros.", "THE NORTH  PUMP was\nreplaced", "Chapter 2 Dogs stay outside. The roof"),
        item(
            "2", "费用为四十欧元。", "第三章：狗必须留在外面，屋顶高十二米", "Nothing of this stands in any document."
        ),
    )
    found = {"verbatim": 2, "normal": 1, "nearly": 2, "not": 1}
    assert run.provenance["contexts"] == found | {"share": pytest.approx((5 / 7 + 13 / 16) / 2)}
    first, second = exports.cases_of(workspace, run)
    assert [first.chunks[i].text for i in first.evaluated.recording.read] == [
        "It cost 40 euros.",
        "The north pump was replaced",
        "Dogs stay outside. The roof",
    ]
    assert [second.chunks[i].text for i in second.evaluated.recording.read] == [
        "费用为四十欧元。",
        "狗必须留在外面。屋顶高十二米",
        "Nothing of this stands in any document.",
    ]
    read = workspace.store.judgements.all(run.id)["1"].recording.contexts
    assert [each.text for each in read] == ["", "", "Chapter 2 Dogs stay outside. The roof"], "as it was read"


def test_the_document_that_is_named_goes_before_others(workspace):
    corpus = stored(workspace, a=TEXT, b=f"Copy. {TEXT}")
    run = recorded(
        workspace, corpus, item("1", Passage("Dogs stay outside.", document="docs/B.md"), "Dogs stay outside.")
    )
    [case] = exports.cases_of(workspace, run)
    names = workspace.store.documents.names(run.corpus_id)
    assert [names[case.chunks[i].document_id] for i in case.evaluated.recording.read] == ["b.md", "a.md"]


def test_evidence_that_no_context_covers_is_missed(workspace):
    corpus = stored(workspace, a=TEXT)
    asked = workspace.store.sets.add(corpus.id, "asked")
    document = workspace.store.documents.all(corpus.id)[0].id
    span = Span(document, TEXT.index("It"), TEXT.index(" Dogs"), "It cost 40 euros.")
    questions = [Question(i, f"What of {i}?", "40", ((span,),), "hand", "accepted") for i in ("1", "2", "3", "4")]
    workspace.store.questions.put(asked.id, questions)
    run = recorded(
        workspace,
        corpus,
        item("1", "Dogs stay outside.", "by Harlow. It cost 40 euros. Dogs"),
        item("x", "Dogs stay outside.", question="what  of 2?"),
        item("3", "replaced in 1998 by Harlow. It", error="time-out", answer=None),
        item("9", "Dogs stay outside."),
        question_set=asked,
    )
    assert run.config.questions == asked.id
    assert run.provenance["problems"] == [
        "'9' is no question of the set, by id or by text: it is left out.",
        "1 of 4 questions of 'asked' has no item.",
    ]
    summary = measurements.summary_of(workspace, run)
    assert (summary.question_ids, summary.ranks.tolist(), summary.k) == (("1", "2", "3"), [2, 0, 0], 2)
    assert measurements.summary_of(workspace, run, 1).metrics["recall@1"].mean == 0
    cases = {case.question.id: case for case in exports.cases_of(workspace, run)}
    assert [cases[i].outcome for i in "123"] == ["found", "missed", "missed"]
    third = workspace.store.judgements.all(run.id)["3"].recording
    assert (third.status, third.reason) == ("failed", "time-out")


def test_reference_contexts_become_evidence_or_it_is_found_later(workspace):
    corpus = stored(workspace, a=TEXT)
    run = recorded(
        workspace,
        corpus,
        item("1", "Dogs stay outside.", reference_contexts=("It cost 40 euros.", "The roof is 12 m high.")),
        item("2", "It cost 40 euros. Dogs stay outside.", reference="It cost 40 euros."),
        item("3", "It cost 40 euros.", reference_contexts=("Cats stay outside the northern gate.",), reference="Cats"),
    )
    asked = workspace.store.sets.get(run.config.questions)
    assert [question.kind for question in workspace.store.questions.all(asked.id)] == [
        "multi",
        "reference",
        "reference",
    ]
    assert measurements.summary_of(workspace, run).ranks.tolist() == [0]
    certain = occurrences.certain(occurrences.search(workspace, asked), "exact")
    best = [(proposal.question, proposal.places[:1]) for proposal in certain]
    assert question_verbs.accept_evidence(workspace, asked, best) == 0
    run = workspace.store.runs.get("r")
    assert measurements.summary_of(workspace, run).ranks.tolist() == [0, 1]


def test_what_the_system_took_is_kept(workspace):
    run = recorded(
        workspace,
        workspace.store.corpora.add("c"),
        item("1", "Dogs.", seconds=1.5, prompt_tokens=100, completion_tokens=20, cost=0.01, history=(("Hi", "Ho"),)),
        item("2", Passage("Cats.", score=0.7)),
    )
    first, second = workspace.store.judgements.all(run.id).values()
    usage = first.recording.usage
    assert (first.recording.seconds, usage.prompt_tokens, usage.completion_tokens, usage.cost) == (1.5, 100, 20, 0.01)
    assert first.question.history == (("Hi", "Ho"),)
    whole = overviews.overview(workspace, run)
    assert overviews.price_of(run, whole, 1) == Price(None, 0.01, 1.5)
    assert overviews.took_words(run, whole) == "It took 1.5 s, 120 tokens, $0.01 an answer."
    assert judgements.cost_words(whole.judgement) == "No model was asked: nothing was paid."
    [retrieved, _] = workspace.store.rankings.all(run.id)
    assert judgements.exchanges_of(workspace, run, retrieved, first)[0].call == usage
    assert (second.recording.seconds, second.recording.usage, second.recording.contexts[0].score) == (None, None, 0.7)


def test_a_cancelled_import_leaves_nothing(workspace, monkeypatch):
    monkeypatch.setattr(imports, "BATCH", 2)
    corpus, items = stored(workspace, a=TEXT), [item(str(n), "Dogs stay outside.", "Cats.") for n in range(5)]

    def stop(done, *_):
        if done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        imports.import_run(workspace, corpus, "s", Log(tuple(items), (), "theirs"), progress=stop)
    assert (workspace.store.runs.find("s"), workspace.store.sets.find("s")) == (None, None)


def test_lost_questions_are_searched_in_an_index_of_the_documents(workspace, command_line, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    corpus = stored(workspace, a=TEXT, c="Dogs are fed at noon. The roof was inspected in 2003 by Miller.")
    indexing.build_index(workspace, corpus, "i", IndexConfig(embedder="", chunk_size=16, overlap=4))
    recorded(
        workspace,
        corpus,
        item("1", "Dogs stay outside.", question="Who replaced the pump?", reference_contexts=(TEXT[:49],)),
        item(
            "2", "Dogs are fed at noon.", question="When are dogs fed?", reference_contexts=("Dogs are fed at noon.",)
        ),
    )
    told = json.loads(command_line("rescue", "r", "--json")[1])
    [row] = told["changes"]
    assert (row["change"], row["rescues"], row["breaks"]) == ("index=i by bm25", 1, 0)
    assert (
        "is not in the first chunk: bm25 over your documents (index i) rescues 1 and breaks 0."
        in command_line("rescue", "r")[1]
    )


def test_scores_of_the_maker_have_means_of_their_own(workspace, command_line, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
    corpus = stored(workspace, a=TEXT)
    runs = [
        recorded(
            workspace,
            corpus,
            *(item(str(n), "Dogs stay outside.", scores={"faith": each / 10}) for n, each in values),
            name=name,
        )
        for name, values in (("r", enumerate((2, 4, 9))), ("s", enumerate((3, 5, 10))))
    ]
    judgement = judgements.judgement_of(workspace, runs[0])
    assert "theirs: faith" not in judgement.metrics
    assert (judgement.of_maker["theirs: faith"].estimate.mean, judgement.of_maker["theirs: faith"].total) == (0.5, 3)
    told = json.loads(command_line("results", "r", "--json")[1])
    assert told["imported_scores"]["theirs: faith"]["n"] == 3
    listed = json.loads(command_line("runs", "list", "--metrics", "--json")[1])
    assert {each["run"]: each["summary"]["estimates"]["theirs: faith"]["mean"] for each in listed} == {
        "r": 0.5,
        "s": 0.6,
    }
    comparison = comparisons.compare_runs(workspace, runs)
    assert comparison.answers["theirs: faith"].deltas[0].difference.mean == pytest.approx(0.1)
    assert comparison.rule.primary != "theirs: faith"
