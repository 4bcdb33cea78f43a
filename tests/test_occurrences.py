"""Where the answers of questions stand in hand-made documents: exactly, nearly, at several places, nowhere."""

from dataclasses import replace

import pytest

from ragviz.core.question import Question
from ragviz.questions import occurrences
from tests.builders import added, document

PUMPS = """# Pumps

The north pump was replaced in May 2023 by Ada Quill.
The south pump was repaired in June
2022 and cost $1,250. Its motor was not changed.

The east pump is checked every 21 days. The west pump is checked every 21 days.
The archive opened in 1990. It is closed on Mondays: yes, always.
"""
VALVES = "北阀门于２０２１年更换，检修周期为三十天。负责人是王芳，她的助手是李强。南阀门由供水公司在春季更换过一次。"


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
        ("repaired in June 2022 and\u00a0cost $1\u202f250", "repaired in June\n2022 and cost $1,250"),
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


def test_a_question_that_was_changed_meanwhile_is_not_saved(workspace):
    store, corpus = workspace.store, added(workspace, "notes", {"pumps.md": PUMPS, "阀门.txt": VALVES})
    question_set = store.sets.add(corpus.id, "q")
    exact = [asked("by Ada Quill", question_id="exact"), asked("负责人是王芳", language="zh", question_id="chinese")]
    store.questions.put(question_set.id, [*exact, asked("Blue Lake Foundry", question_id="nowhere")])
    proposals = occurrences.search(workspace, question_set)
    changed = replace(proposals[0].question, answer="by somebody else")
    store.questions.put(question_set.id, [changed])
    chosen = [(p.question, p.places[:1]) for p in occurrences.certain(proposals, "exact")]
    assert (len(chosen), occurrences.accept(workspace, question_set, chosen)) == (2, 1)
    first, second, _ = store.questions.all(question_set.id)
    assert (first, second.kind) == (changed, "single")
