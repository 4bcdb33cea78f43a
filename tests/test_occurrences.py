"""Where the answers of questions stand in hand-made documents: exactly, nearly, at several places, nowhere."""

import json
from dataclasses import replace

import pytest

from ragviz.core.document import Document
from ragviz.core.question import Question
from ragviz.questions import occurrences

PUMPS = """# Pumps

The north pump was replaced in May 2023 by Ada Quill.
The south pump was repaired in June
2022 and cost $1,250. Its motor was not changed.

The east pump is checked every 21 days. The west pump is checked every 21 days.
The archive opened in 1990. It is closed on Mondays: yes, always.
"""
VALVES = "北阀门于２０２１年更换，检修周期为三十天。负责人是王芳，她的助手是李强。南阀门由供水公司在春季更换过一次。"


def document(name, text, language):
    return Document(Document.make_id(name, text), name, text, (), language, "text/plain", "h", len(text))


DOCUMENTS = [document("pumps.md", PUMPS, "en"), document("阀门.txt", VALVES, "zh")]


def asked(answer, text="?", language="en", question_id="q"):
    return Question(question_id, text, answer, (), "import", "accepted", language=language)


def found(answer, text="?", language="en"):
    [proposal] = occurrences.find([asked(answer, text, language)], DOCUMENTS)
    return proposal


@pytest.mark.parametrize(
    ("answer", "stands_as"),
    [
        ("replaced in May 2023", "replaced in May 2023"),
        ("  ada  QUILL. ", "Ada Quill"),  # blanks, case, the full stop of a sentence
        ("repaired in June 2022", "repaired in June\n2022"),  # over a line's end
        ("cost $1,250", "cost $1,250"),
        ("repaired in June 2022 and\u00a0cost $1\u202f250", "repaired in June\n2022 and cost $1,250"),
        ("北阀门于2021年更换", "北阀门于２０２１年更换"),  # width
        ("负责人是王芳。", "负责人是王芳"),
    ],
)
def test_an_exact_place(answer, stands_as):
    proposal = found(answer)
    [place] = proposal.places
    assert (proposal.outcome, proposal.doubt, place.how, place.alike) == ("exact", "", "exact", 1.0)
    assert place.span.text == stands_as
    text = next(d.text for d in DOCUMENTS if d.id == place.span.document_id)
    assert text[place.span.start : place.span.end] == stands_as


@pytest.mark.parametrize(
    ("answer", "language", "stands_in"),
    [
        (
            "Ada Quill replaced the north pump in May 2023",
            "en",
            "The north pump was replaced in May 2023 by Ada Quill.",
        ),
        (
            "In June 2022 the south pump was repaired, for $1,250.",
            "en",
            "The south pump was repaired in June\n2022 and",
        ),
        ("春季由供水公司更换了南阀门", "zh", "南阀门由供水公司在春季更换过一次。"),
        ("检修的周期为三十天，北阀门", "zh", "北阀门于２０２１年更换，检修周期为三十天。"),
    ],
)
def test_a_near_place_is_whole_sentences(answer, language, stands_in):
    proposal = found(answer, language=language)
    assert proposal.outcome == "near"
    assert proposal.places[0].span.text.startswith(stands_in)
    assert occurrences.NEAR <= proposal.places[0].alike <= 1


def test_several_places_are_listed_the_one_asked_about_first():
    for pump in ("east", "west"):
        proposal = found("checked every 21 days", f"How often is the {pump} pump checked, the archive aside?")
        assert (proposal.outcome, len(proposal.places)) == ("ambiguous", 2)
        assert "2 places" in proposal.doubt
    starts = sorted(p.span.start for p in proposal.places)
    assert starts == [PUMPS.index("checked every"), PUMPS.rindex("checked every")]
    far = document("a.md", "Anna paid five euros.\n\nIt rained.\n\nIt rained.\n\nBob paid five euros.", "en")
    first = occurrences.find([asked("paid five euros", "What did Bob pay?")], [far])[0].places[0]
    assert first.span.start > 40
    assert first.asked > 0


def test_only_what_is_certain_is_accepted_together():
    proposals = [found(answer) for answer in ("Ada Quill", "1990", "cost 1250", "nowhere at all")]
    assert [p.outcome for p in proposals] == ["exact", "ambiguous", "near", "none"]
    assert [p.outcome for p in occurrences.certain(proposals, "exact")] == ["exact"]
    assert [p.outcome for p in occurrences.certain(proposals, "all")] == ["exact", "near"]


# On the command line


@pytest.fixture
def ragviz(workspace, command_line):
    def call(*words):
        code, out, err = command_line(*words)
        return code, out, " ".join(err.split())

    return call


def cli_set(ragviz, tmp_path):
    rows = [
        {"id": "exact", "question": "Who replaced the north pump?", "answer": "by Ada Quill"},
        {"id": "chinese", "question": "谁是负责人？", "answer": "负责人是王芳"},
        {"id": "twice", "question": "How often is the east pump checked?", "answer": "checked every 21 days"},
        {"id": "near", "question": "When was it replaced?", "answer": "Ada Quill replaced the north pump in May 2023"},
        {"id": "short", "question": "When did the archive open?", "answer": "1990"},
        {"id": "nowhere", "question": "Who made the valves?", "answer": "Blue Lake Foundry"},
        {"id": "marked", "question": "Who owns it?", "answer": "It does not say.", "unanswerable": True},
    ]
    (tmp_path / "in").mkdir()
    for each in DOCUMENTS:
        (tmp_path / "in" / each.name).write_text(each.text, encoding="utf-8")
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    assert ragviz("corpus", "add", "notes", *(tmp_path / "in").iterdir())[0] == 0
    code, _, err = ragviz("questions", "import", "notes", file, "--name", "q")
    assert code == 0
    assert "6 of 7 questions name no evidence" in err
    assert "ragviz questions find-evidence q" in err


def kinds(workspace):
    workspace.store.evidence.settle_all()
    return {q.id: q.kind for q in workspace.store.questions.all(workspace.store.sets.get("q").id)}


def test_a_question_that_was_changed_meanwhile_is_not_saved(ragviz, workspace, tmp_path):
    cli_set(ragviz, tmp_path)
    store, question_set = workspace.store, workspace.store.sets.get("q")
    proposals = occurrences.search(workspace, question_set)
    changed = replace(proposals[0].question, answer="by somebody else")
    store.questions.put(question_set.id, [changed])
    chosen = [(p.question, p.places[:1]) for p in occurrences.certain(proposals, "exact")]
    assert (len(chosen), occurrences.accept(store, question_set, chosen)) == (2, 1)
    assert changed in store.questions.all(question_set.id)
    assert kinds(workspace)["chinese"] == "single"
