"""Another program's claims and verdicts: read against the figures that program computed itself."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ragviz.analysis import diagnose
from ragviz.core.errors import InputError
from ragviz.runs import exports, imports, judgements, measurements, running, tables
from ragviz.targets import logged_file
from ragviz.targets.logged_item import Passage

COUNTED = Path(__file__).parent / "data" / "ragchecker.json"
PUBLIC = Path(__file__).resolve().parents[2] / "shared" / "data" / "imports" / "ragchecker" / "checking_outputs.json"

public = pytest.mark.skipif(not PUBLIC.exists(), reason=f"no public output at {PUBLIC}")


def result(**changes):
    """One question with two passages, two claims of the answer and three of the reference."""
    return {
        "query_id": "7",
        "query": "When was the pump replaced?",
        "gt_answer": "In 1998, by Harlow, for 40 euros.",
        "response": "In 1998 by Miller.",
        "retrieved_context": [{"doc_id": "a", "text": "Dogs stay outside."}, {"doc_id": "b", "text": "1998: Harlow."}],
        "response_claims": [["pump", "replaced", "1998"], "Miller did it"],
        "gt_answer_claims": ["1998", "Harlow", "40 euros"],
        "answer2response": ["Entailment", "Contradiction"],
        "response2answer": ["Entailment", "Contradiction", "Neutral"],
        "retrieved2response": [["Neutral", "Entailment"], ["Neutral", "Neutral"]],
        "retrieved2answer": [["Neutral", "Entailment"], ["Neutral", "Entailment"], ["Neutral", "Neutral"]],
    } | changes


def written(*results) -> bytes:
    return json.dumps({"results": results}).encode()


def read_log(data: bytes, name: str):
    [log] = logged_file.read(data, name).logs
    return log


def test_verdicts_become_the_matrix_and_the_scores(workspace):
    log = read_log(written(result()), "out.json")
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "r", log)
    judgement = judgements.judgement_of(workspace, run)
    values = {name: scores["7"].value for name, scores in judgement.scores.items()}
    assert values["faithfulness"] == 0.5
    assert values["context_recall"] == pytest.approx(2 / 3)
    assert (values["context_precision"], values["context_precision_plain"]) == (0.5, 0.5)
    assert (values["factual_precision"], values["completeness"]) == (0.5, pytest.approx(1 / 3))
    matrix = workspace.store.judgements.all(run.id)["7"].matrix
    assert matrix.answer_claims[0].text == "pump replaced 1998"
    assert matrix.reference_by_answer[1].verdict == "contradicted"
    assert judgement.causes["7"] == "not_retrieved", "the 40 euros are in no passage"


def test_passages_that_nobody_judged_are_no_evidence(workspace):
    log = read_log(written(result()), "out.json")
    (answer,) = log.items
    unjudged = replace(answer, matrix=replace(answer.matrix, useful=None, reference_by_chunk=None))
    corpus = workspace.store.corpora.add("c")
    run = imports.import_run(workspace, corpus, "r", replace(log, items=(unjudged,)))
    judgement = judgements.judgement_of(workspace, run)
    assert judgement.scores["faithfulness"]["7"].value == 0.5
    assert "context_precision" not in judgement.scores, "no recording has a value"


def test_no_claim_of_the_reference_is_no_passage_that_is_not_useful():
    empty = result(gt_answer_claims=[], response2answer=[], retrieved2answer=[])
    (item,) = read_log(written(empty), "out.json").items
    assert item.matrix.useful is None


def test_what_a_result_lacks_is_told_and_is_never_0(workspace):
    rows = [
        result(response=None, response_claims=[], answer2response=["Entailment"]),
        result(query_id="8", gt_answer=None, gt_answer_claims=None, response2answer=None, retrieved2answer=None),
        result(query_id=9, retrieved_context=["Dogs stay outside.", "1998: Harlow."]),
    ]
    log = read_log(written(*rows), "out.json")
    assert log.problems == (
        "Row 1 has no answer: what needs it is not known.",
        "Row 2 has no reference: what needs it is not known.",
    )
    assert log.items[2].contexts == (Passage("Dogs stay outside."), Passage("1998: Harlow."))
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "r", log)
    scores = judgements.judgement_of(workspace, run).scores
    assert [scores["faithfulness"][name].value for name in "789"] == [None, 0.5, 0.5]
    assert [scores["context_recall"][name].value for name in "789"] == [
        pytest.approx(2 / 3),
        None,
        pytest.approx(2 / 3),
    ]


RAGAS = """user_input,retrieved_contexts,response,reference,faithfulness,context_recall
When was it replaced?,"['1998: Harlow.', 'Dogs stay outside.']",In 1998.,In 1998 by Harlow.,0.75,0.0
Who?,"['1998: Harlow.']",,Harlow,nan,
Why?,not closed "a",b,c,d,e,f,g
"""
RAGET = {
    "models": [{"modelId": "m"}],
    "documents": [{"documentId": "d1", "text": "1998: Harlow."}],
    "tasks": [
        {"taskId": "t1", "contexts": [{"documentId": "d1"}], "input": "When?", "targets": [{"text": "In 1998."}]},
        {"task_id": "t2", "contexts": [], "input": [{"text": "Hi"}, {"text": "Who?"}]},
    ],
    "evaluations": [
        {"taskId": "t1", "modelId": "m", "modelResponse": "In 1998.", "annotations": {
            "useful": {"ada": {"value": "4"}, "bob": {"value": 1}, "eve": {"value": "none"}}, "free": {"ada": {}}}},
    ],
}  # fmt: skip


def test_results_of_ragas_are_a_run_with_its_scores_under_its_name(workspace):
    log = read_log(RAGAS.encode(), "results.csv")
    assert log.problems == (
        "Row 3 has no answer: what needs it is not known.",
        "Row 4: has 8 cells for 6 columns: put text with a delimiter in quotes.",
    )
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "r", log)
    first, second = exports.cases_of(workspace, run)
    assert (first.answer[0], first.question.answer) == ("In 1998.", "In 1998 by Harlow.")
    assert [first.chunks[hit.chunk_id].text for hit in first.hits] == ["1998: Harlow.", "Dogs stay outside."]
    assert first.evaluated.scores_of_maker == {"ragas: faithfulness": 0.75, "ragas: context_recall": 0.0}
    assert (second.answer, second.evaluated.scores_of_maker) == (("", "", ""), {})
    rows = tables.rows("scores", exports.contents_of(workspace, run))
    assert ("2", "ragas: faithfulness", "imported", 0.75, "ok", None, None) in rows
    assert "faithfulness" not in {row[1] for row in rows}
    files = exports.export_run(workspace, replace(run, config=replace(run.config, limit=2)))
    assert files["qa_dataset_limit=2_answers.csv"].decode("utf-8-sig").splitlines() == [
        "question,ground_truth_answer,chunk_id,document,answer,answer_status,answer_reason",
        "When was it replaced?,In 1998 by Harlow.,,,In 1998.,answered,",
        "Who?,Harlow,,,,,",
    ]


def test_tasks_of_inspectorraget_are_a_run_with_the_means_of_its_annotators():
    log = read_log(json.dumps(RAGET).encode(), "raget.json")
    [one] = log.items
    assert (one.question, one.answer, one.reference, one.contexts, log.system) == (
        "When?", "In 1998.", "In 1998.", (Passage("1998: Harlow.", "d1"),), "m",
    )  # fmt: skip
    assert one.scores == {"useful": 2.5}
    second = RAGET["evaluations"][0] | {"modelId": "n", "modelResponse": "In 1999.", "taskId": "t1"}
    more = RAGET | {"evaluations": [*RAGET["evaluations"], second]}
    logs = logged_file.read(json.dumps(more).encode(), "raget.json").logs
    assert [(log.system, log.items[0].answer) for log in logs] == [("m", "In 1998."), ("n", "In 1999.")]
    with pytest.raises(InputError, match="no column that is a question, an answer or contexts"):
        logged_file.read(b"words", "x.txt")


def test_what_an_import_cannot_know_is_not_shown(workspace):
    """Its gold chunks would be what the system itself retrieved, and every question a hit."""
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "r", read_log(written(result()), "out.json"))
    summary = measurements.summary_of(workspace, run)
    assert (summary.n, summary.unanswerable, summary.misses, summary.metrics) == (0, 0, 0, {})
    told = measurements.unranked_words(run)
    assert "Ranks of the evidence" in told
    assert "find-evidence" not in told, "there is no document to search"
    [case] = exports.cases_of(workspace, run)
    assert (case.outcome, case.rank, case.ranking, case.gold) == ("not ranked", None, {}, frozenset())
    assert [step.cause for step in diagnose.waterfall(["wrong"], run.knows)[1:]] == ["wrong"]
    everything = exports.breakdown_of(workspace, run)[0]
    assert {name for name, scored in everything.metrics.items() if scored.estimate.n} == set(
        judgements.judgement_of(workspace, run).metrics
    )


@pytest.mark.parametrize(
    ("file", "results"),
    [
        pytest.param(COUNTED, 4, id="counted by hand"),
        pytest.param(PUBLIC, 2, id="public", marks=public),
    ],
)
def test_verdicts_give_the_figures_that_were_computed_from_them(workspace, file, results):
    data = file.read_bytes()
    output = read_log(data, file.name)
    assert (len(output.items), output.problems) == (results, ())
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "imported", output)
    scores = judgements.judgement_of(workspace, run).scores
    theirs = {
        "factual_precision": "precision",
        "completeness": "recall",
        "context_recall": "claim_recall",
        "context_precision_plain": "context_precision",
        "faithfulness": "faithfulness",
    }
    for each in json.loads(data)["results"]:
        for ours, name in theirs.items():
            assert scores[ours][each["query_id"]].value == pytest.approx(each["metrics"][name]), (
                ours,
                each["query_id"],
            )


VERDICTS = ("response_claims", "gt_answer_claims", "answer2response", "response2answer", "retrieved2response")


def unjudged(**changes):
    """What RAGChecker reads: no claims, no verdicts."""
    return {k: v for k, v in result(**changes).items() if k not in (*VERDICTS, "retrieved2answer")}


def imported(workspace, *rows):
    return imports.import_run(workspace, workspace.store.corpora.ensure("c"), "r", read_log(written(*rows), "in.json"))


def test_what_was_recorded_elsewhere_is_judged_here(with_models, server):
    """Its documents are in no corpus; the passages of the file are what the judge reads."""
    workspace = with_models
    run = imported(workspace, unjudged(), unjudged(query_id="8", query="Who replaced it?", response="Harlow."))
    before = judgements.judgement_of(workspace, run)
    assert set(before.scores) == {"extractive_questeval_recall", "rouge_l", "token_f1", "exact_match"}
    foreseen = running.foresee_judging(workspace, run, ("all",))
    assert foreseen.calls["context"] == foreseen.calls["comparison"] == 2
    assert "answer" not in foreseen.calls
    assert server.counts.calls <= 2, "its pace was measured, nothing was judged"
    running.judge(workspace, run)
    run = workspace.store.runs.get(run.id)
    after = judgements.judgement_of(workspace, run)
    assert run.config.judge == "loopback"
    assert {"faithfulness", "context_recall", "equivalence", "questeval_recall"} <= set(after.scores)
    evaluated = workspace.store.judgements.all(run.id)
    assert evaluated["8"].matrix.chunks == evaluated["8"].recording.read
    assert after.scores["context_recall"]["8"].version == "2+reference2+context2"
    assert before.scores["rouge_l"] == after.scores["rouge_l"]
    prompts = [str(body["messages"]) for body in server.bodies if "messages" in body]
    assert any("Dogs stay outside." in prompt for prompt in prompts)
    [question, _] = workspace.store.rankings.questions(run.id)
    [retrieved, _] = workspace.store.rankings.all(run.id)
    told = judgements.exchanges_of(workspace, run, retrieved, evaluated[question.id])
    assert {each.call.step for each in told} >= {"claims", "context", "comparison"}
    assert all(each.messages for each in told)


def test_verdicts_of_the_file_are_kept_and_only_the_rest_is_asked_for(with_models):
    workspace = with_models
    run = imported(workspace, result())
    running.judge(workspace, run, ("all",))
    run = workspace.store.runs.get(run.id)
    judgement = judgements.judgement_of(workspace, run)
    assert judgement.scores["faithfulness"]["7"].value == 0.5
    assert judgement.scores["faithfulness"]["7"].version == "2+ragchecker"
    assert judgement.scores["questeval_recall"]["7"].version == "1+questeval2"
    assert judgement.scores["equivalence"]["7"].status == "not_applicable"
    assert {call.step for call in workspace.store.judgements.all(run.id)["7"].calls} == {"bank", "questeval"}
