"""Where systems lose answers that one cannot look into: told by verdicts, by words, or not at all; worked by hand."""

from dataclasses import replace

import pytest

from ragviz.core.verdict import Claim, ClaimVerdict, Matrix
from ragviz.runs import exports, imports, judgements, measurements, running
from ragviz.targets.logged_item import Log, LoggedItem, Passage

YES, NO, PART = ClaimVerdict("supported"), ClaimVerdict("absent"), ClaimVerdict("together")
REFERENCE = "The ferry sails twice a day. A return ticket costs nine crowns."
CLAIMS = (Claim("It sails twice a day."), Claim("A return ticket costs nine crowns."))
CONTEXTS = (
    Passage("The ferry leaves the north pier twice a day in winter.", id="ferry", document="ferry.md"),
    Passage("Prices of the ferry: a return ticket costs nine crowns, dogs one crown.", id="prices"),
)
SILENT = "I don't know."
PUMP, DOGS = Passage("The north pump was replaced in 1998 by Harlow."), Passage("Dogs stay outside.")


def judged(answer_by_chunk, reference_by_chunk, reference_by_answer):
    """A row of verdicts a claim: of the answer by the two contexts, of the reference by them, and by the answer."""
    own = tuple(Claim(str(place)) for place in range(len(answer_by_chunk)))
    right = tuple(YES if by == YES else NO for by in reference_by_answer[: len(own)])
    return Matrix(
        ("0", "1"), own, CLAIMS, answer_by_chunk, reference_by_chunk,
        right + (NO,) * (len(own) - len(right)), reference_by_answer,
    )  # fmt: skip


BOTH_IN = ((YES, NO), (NO, YES))
ITEMS = {
    "right": ("Twice a day, for nine crowns.", judged(BOTH_IN, BOTH_IN, (YES, YES))),
    "lacks one": ("Three times a day.", judged(((NO, NO),), ((NO, NO), (NO, YES)), (NO, NO))),
    "lacks both": ("On Sundays.", judged(((NO, NO),), ((NO, NO), (NO, NO)), (NO, NO))),
    "invented": ("By Harlow, since 1998.", judged(((NO, NO), (NO, NO)), ((YES, NO), (NO, NO)), (NO, NO))),
    "unused": ("It costs one crown.", judged(((NO, YES),), BOTH_IN, (NO, NO))),
    "together": ("Dogs pay one crown.", judged(((NO, YES),), ((PART, PART), (NO, YES)), (NO, NO))),
    "silent, held": (SILENT, judged((), BOTH_IN, (NO, NO))),
    "silent, lacking": (SILENT, judged((), ((NO, NO), (NO, YES)), (NO, NO))),
}
"""Of eight, one is right; four are lost in retrieval, two are unused, one abstained though its contexts hold it."""


def stored(workspace, *, reference, verdicts, items=ITEMS):
    logged = []
    for place, (name, (answer, matrix)) in enumerate(items.items()):
        own = matrix if reference else replace(matrix, reference_claims=None, reference_by_chunk=None)
        own = own if reference else replace(own, reference_by_answer=None, answer_by_reference=None)
        asked, said = f"When does ferry {place} sail?", REFERENCE if reference else ""
        logged.append(LoggedItem(name, asked, said, answer, CONTEXTS, own if verdicts else None))
    corpus = workspace.store.corpora.ensure("c")
    return imports.import_run(workspace, corpus, "theirs", Log(tuple(logged), (), "their system"))


def told(workspace, run):
    """The causes, the waterfall without its first bar, and the headline."""
    judgement, summary = judgements.judgement_of(workspace, run), measurements.summary_of(workspace, run)
    kinds = {question.id: question.kind for question in workspace.store.rankings.questions(run.id)}
    at = judgements.AtK(run, summary, judgement, judgement.causes, kinds)
    return judgement, {step.title: step.count for step in at.steps[1:]}, at.verdict


def test_verdicts_tell_where_answers_with_references_are_lost(workspace):
    run = stored(workspace, reference=True, verdicts=True)
    judgement, steps, sentence = told(workspace, run)
    assert judgement.causes == {
        "right": "fine", "lacks one": "not_retrieved", "lacks both": "not_retrieved", "invented": "not_retrieved",
        "unused": "unused", "together": "unused", "silent, held": "not_answered", "silent, lacking": "not_retrieved",
    }  # fmt: skip
    assert steps == {"Not retrieved": 4, "Not answered": 1, "Retrieved, not used": 2, "Correct": 1}
    assert sentence == (
        "1 of 8 questions is answered correctly. Its contexts lack what 4 of 7 lost questions need: look at retrieval "
        "first."
    )
    assert judgements.decided_words(judgement).endswith("; what the contexts hold by verdicts on claims (8)")
    cases = {case.question.id: case for case in exports.cases_of(workspace, run)}
    held = cases["silent, held"].question
    meaning = judgements.meaning_of(run, "not_answered", 2, question=held, judgement=judgement)
    assert meaning.explanation.endswith("The contexts hold the answer.")


def test_what_is_used_wrongly_is_not_blamed_on_retrieval(workspace):
    items = {f"{name} {copy}": ITEMS[name] for name in ("unused", "together") for copy in range(3)}
    _, steps, sentence = told(workspace, stored(workspace, reference=True, verdicts=True, items=items))
    assert steps == {"Retrieved, not used": 6}
    assert "Its contexts hold what the answers to all 6 lost questions lack: look at the prompt or the" in sentence


def test_without_references_verdicts_tell_what_is_unsupported_and_words_who_abstained(workspace):
    judgement, steps, sentence = told(workspace, stored(workspace, reference=False, verdicts=True))
    assert judgement.causes["invented"] == "unsupported"
    assert steps == {"Not answered": 2, "Unsupported answer": 3, "Cannot be told": 3}
    assert sentence == (
        "Whether its answers are right is not known: that takes a reference. The answers to 3 of 5 lost questions say "
        "what its contexts do not: look at the prompt or the model first."
    )
    assert (judgement.abstention.precision, judgement.abstention.recall) == (None, None)


def test_without_verdicts_words_decide_what_is_right_and_nothing_tells_what_was_retrieved(workspace):
    _, steps, sentence = told(workspace, stored(workspace, reference=True, verdicts=False))
    assert steps == {"Not answered": 2, "Incorrect answer": 5, "Correct": 1}
    assert sentence.endswith(
        "Most of the loss is incorrect answers (5 of 7 lost): have a model judge whether the contexts hold what they "
        "lack."
    )


def test_words_of_the_reference_tell_what_the_contexts_hold(workspace):
    read = (Passage("A return ticket costs nine crowns."), Passage("Dogs stay outside."))
    items = [
        LoggedItem("held", "What does a return ticket cost?", "Nine crowns.", SILENT, read),
        LoggedItem("lacking", "Who sails it?", "Captain Harlow", SILENT, read),
        LoggedItem("in part", "Who pays?", "Dogs and captains", SILENT, read),
        LoggedItem("wrong", "What does a return ticket cost?", "Nine crowns.", "Seven.", read),
        LoggedItem("chinese", "票价是多少？", "九克朗", "不知道。", (Passage("往返票价为九克朗。"),)),
        LoggedItem("chinese, lacking", "谁驾驶渡轮？", "哈洛船长", "不知道。", (Passage("往返票价为九克朗。"),)),
    ]
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "theirs", Log(tuple(items), (), "theirs"))
    judgement, *_ = told(workspace, run)
    assert judgement.causes == {
        "held": "not_answered", "lacking": "not_retrieved", "in part": "not_answered", "wrong": "unused",
        "chinese": "not_answered", "chinese, lacking": "not_retrieved",
    }  # fmt: skip
    assert {i: ruling.held for i, ruling in judgement.rulings.items()} == {
        "held": True, "lacking": False, "in part": None, "wrong": True, "chinese": True, "chinese, lacking": False,
    }  # fmt: skip
    assert "by the reference's words (5)" in judgements.decided_words(judgement)


def test_an_item_without_an_answer_is_no_abstention(workspace):
    items = {"unanswered": (None, Matrix()), "right": ITEMS["right"]}
    run = stored(workspace, reference=True, verdicts=False, items=items)
    judgement, *_ = told(workspace, run)
    assert judgement.causes["unanswered"] == "not_judged"
    question = next(q for q in workspace.store.rankings.questions(run.id) if q.id == "unanswered")
    meaning = judgements.meaning_of(run, "not_judged", 2, question=question, judgement=judgement)
    assert (meaning.title, meaning.explanation) == ("Cannot be told", "No answer was recorded.")


def test_evidence_in_documents_tells_the_stages_without_a_judge(workspace):
    corpus = workspace.store.corpora.add("c")
    workspace.store.documents.add(corpus.id, imports._document("a.md", f"{PUMP.text}\n\nCosts.\n\n{DOGS.text}"))
    asked = {
        "right": ("Harlow", "Harlow did.", PUMP), "lacking": ("outside", "In the hall.", DOGS),
        "unused": ("Harlow", "Miller.", PUMP), "silent": ("Harlow", SILENT, PUMP), "unknown": ("green", "Blue.", None),
    }  # fmt: skip
    items = [
        LoggedItem(name, f"What of {name}?", reference, answer, (PUMP,), reference_contexts=(at.text,) if at else ())
        for name, (reference, answer, at) in asked.items()
    ]
    run = imports.import_run(workspace, corpus, "theirs", Log(tuple(items), (), "their system"))
    judgement, *_ = told(workspace, run)
    assert judgement.causes == {
        "right": "fine", "lacking": "not_retrieved", "unused": "unused", "silent": "not_answered",
        "unknown": "not_retrieved",  # no word of the reference was read
    }  # fmt: skip
    questions = {question.id: question for question in workspace.store.rankings.questions(run.id)}
    lacking, silent = (
        judgements.meaning_of(run, judgement.causes[i], 1, question=questions[i], judgement=judgement)
        for i in ("lacking", "silent")
    )
    assert lacking.explanation == "A passage that the question needs is in none of the contexts."
    assert silent.explanation.endswith("The contexts hold the answer.")


ASKED_HERE = {
    "right": ("Harlow replaced the north pump in 1998.", PUMP, "fine", "not_judged"),
    "unused": ("Zebras juggle lanterns.", PUMP, "unused", "unsupported"),
    "lacking": ("Dogs stay outside.", DOGS, "not_retrieved", "not_judged"),
    "silent": (SILENT, PUMP, "not_answered", "not_answered"),
}
"""Answer, context, and the cause with the reference and without."""


@pytest.mark.parametrize("reference", ["Harlow replaced the north pump in 1998.", ""])
def test_a_judge_that_is_asked_here_tells_the_stages(with_models, reference):
    workspace = with_models
    items = [
        LoggedItem(name, f"Who replaced the {name} pump?", reference, answer, (context,))
        for name, (answer, context, *_) in ASKED_HERE.items()
    ]
    run = imports.import_run(workspace, workspace.store.corpora.add("c"), "r", Log(tuple(items), (), "theirs"))
    running.judge(workspace, run)
    causes = judgements.judgement_of(workspace, workspace.store.runs.get(run.id)).causes
    assert causes == {name: told[2 if reference else 3] for name, told in ASKED_HERE.items()}
