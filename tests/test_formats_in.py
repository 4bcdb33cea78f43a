"""Question sets of other programs in and out: BEIR, SQuAD, Ragas, TREC; every row that cannot be read is told."""

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Chunk, Span
from ragviz.core.errors import Cancelled, InputError
from ragviz.core.question import Question, QuestionStatus, QuestionStyle, QuestionType
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.questions import exchange, interchange
from ragviz.questions.formats import input_file, set_formats
from ragviz.questions.formats.located import located
from ragviz.runs import overviews, running
from tests.builders import document, stored
from tests.test_ingest import zipped

PUBLIC = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "retrieval"

CORPUS = [
    {"_id": "d1", "title": "Harbour", "text": "The harbour opens at six. Boats leave hourly."},
    {"_id": "d2", "title": "", "text": "The ferry carries forty cars."},
    {"_id": "d3", "title": "码头", "text": "码头在六点开放，渡船每小时一班。"},
]
QUERIES = [
    {"_id": "q1", "text": "When does the harbour open?", "metadata": {"answers": ["at six", "six"]}},
    {"_id": "q2", "text": "How many cars fit on the ferry?"},
    {"_id": "q3", "text": "码头几点开放？"},
    {"_id": "q4", "text": "Who built the lighthouse?", "metadata": {"answerable": False, "answers": []}},
    {"_id": "q5", "text": "What does a ticket cost?"},
    {"_id": "q6", "text": "Who is the master of the harbour?", "metadata": {"answers": ["Ada"]}},
]
TEST = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\nq1\td3\t0\nq2\td2\t1\n"
DEV = "query-id\tcorpus-id\tscore\nq3\td3\t1\n"


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def beir(folder="", **changes):
    members = {"corpus.jsonl": lines(CORPUS), "queries.jsonl": lines(QUERIES), "qrels/test.tsv": TEST}
    members |= {"qrels/dev.tsv": DEV} | changes
    return {f"{folder}{name}": data for name, data in members.items() if data is not None}


@pytest.fixture
def corpus(workspace):
    return workspace.store.corpora.add("harbour")


def bring(workspace, corpus, data, name="f", into="s", **options):
    given_files = input_file.from_bytes(name, data)
    outcome = exchange.import_files(workspace, corpus, given_files, into, **options)
    found = workspace.store.sets.find(into)
    questions = workspace.store.questions.all(found.id) if found else []
    return outcome, {question.id: question for question in questions}


def told(workspace, outcome):
    return [(p.file.rpartition("/")[2], p.row, p.reason) for p in exchange.problems_of(workspace, outcome.key)]


def add(workspace, corpus, name, text):
    corpora.add_file(workspace, corpus, name, text.encode())
    return stored(workspace, corpus, name)


# BEIR


def test_a_folder_of_beir_becomes_documents_and_questions(workspace, corpus):
    outcome, questions = bring(workspace, corpus, zipped(beir("set/")))
    assert (outcome.format, outcome.documents, outcome.imported, outcome.problems) == ("beir", 3, 5, 0)
    texts = {
        info.name: workspace.store.documents.get(corpus.id, info.id)
        for info in workspace.store.documents.all(corpus.id)
    }
    assert texts["d1"].text == "Harbour\n\nThe harbour opens at six. Boats leave hourly."
    assert (texts["d2"].text, texts["d3"].language) == ("The ferry carries forty cars.", "zh")
    [group] = questions["q1"].evidence  # any relevant entry suffices, each with its grade
    assert [(span.document_id, span.text, span.grade) for span in group] == [
        (texts["d1"].id, texts["d1"].text, 2),
        (texts["d2"].id, texts["d2"].text, 1),
    ]
    assert (questions["q1"].answer, questions["q1"].kind, questions["q1"].language) == ("at six", "single", "en")
    assert {name: question.split for name, question in questions.items()} == {
        "q1": "test", "q2": "test", "q3": "validation", "q4": "", "q6": "",
    }  # fmt: skip
    assert (questions["q4"].kind, questions["q4"].type) == ("unanswerable", "unanswerable")
    assert questions["q6"].kind == "reference"
    assert workspace.store.sets.get("s").split.kind == "imported"
    assert any("1 query has no relevant document and no answer" in note for note in outcome.notes)  # q5
    assert any("1 judgement of “not relevant”" in note for note in outcome.notes)
    assert any("several reference answers: the first was kept" in note for note in outcome.notes)


def test_nothing_is_stored_of_an_import_that_ends_early(workspace, corpus):
    def stop(_done, _total, _unit, message=""):
        if message.startswith("Storing"):
            raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        bring(workspace, corpus, zipped(beir()), progress=stop)
    for missing in ("corpus.jsonl", "queries.jsonl"):
        with pytest.raises(InputError, match=f"has no {missing}"):
            bring(workspace, corpus, zipped(beir(**{missing: None})), file_format="beir")
    with pytest.raises(InputError, match="no judgements"):
        bring(workspace, corpus, zipped({n: d for n, d in beir().items() if "qrels" not in n}))
    assert workspace.store.documents.all(corpus.id) == []
    assert workspace.store.sets.all() == []


def test_beir_goes_out_as_it_came_in(workspace, corpus):
    _, questions = bring(workspace, corpus, zipped(beir()))
    written = exchange.export_set(workspace, workspace.store.sets.get("s"), "beir")
    other = workspace.store.corpora.add("again")
    outcome, again = bring(workspace, other, written.data, into="again")
    assert outcome.problems == 0
    kept, back = (
        {
            i: (q.text, q.answer, q.kind, q.split, [(s.text, s.grade) for g in q.evidence for s in g])
            for i, q in of.items()
        }
        for of in (questions, again)
    )
    assert kept == back


@pytest.mark.parametrize(("name", "expected"), [("clapnq", 0.935), ("xquad_en", 0.963), ("xquad_zh", 0.962)])
def test_public_beir_folders_have_the_scores_that_others_measured(workspace, name, expected):
    """One BM25 run by bm25s, with jieba for Chinese, is named in the data's README."""
    if not PUBLIC.exists():
        pytest.skip("needs ../shared/data/retrieval")
    corpus = workspace.store.corpora.add(name)
    brought = input_file.from_paths([(name, PUBLIC / name)])
    outcome = exchange.import_files(workspace, corpus, brought, name)
    assert outcome.problems == 0
    indexing.build_index(workspace, corpus, name, IndexConfig(chunk_size=5000, embedder=""))
    run = running.run(workspace, name, RunConfig(index=name, questions=name, retriever="bm25", k=10))
    summary = overviews.overview(workspace, run).summary
    assert summary.metrics["ndcg@10"].mean == pytest.approx(expected, abs=0.006)
    assert (summary.n, summary.unanswerable) == ((300, 300) if name == "clapnq" else (1190, 0))


FERRY = "The ferry leaves at nine. It leaves from pier two."
PIER = "二号码头在1998年建成，全长三十米。"


def squad(*rows, context=FERRY, title="Ferries"):
    return {"version": "v2.0", "data": [{"title": title, "paragraphs": [{"context": context, "qas": list(rows)}]}]}


def row(number, question, text, start, **more):
    return {"id": f"s{number}", "question": question, "answers": [{"text": text, "answer_start": start}]} | more


def test_wrong_offsets_of_squad_are_told_and_repaired_where_the_text_stands_once(workspace, corpus):
    data = squad(
        row(1, "When?", "nine", 20),
        row(2, "Where?", "pier two", 3),
        row(3, "What does it do?", "leaves", 0),  # stands twice: which one?
        row(4, "How long?", "an hour", 0),
        row(5, "Who?", "", 0),
        {"id": "s6", "question": "Which flag?", "answers": [], "is_impossible": True, "plausible_answers": [{}]},
        {"id": "s7", "question": "No answer?", "answers": []},
        {"id": "s8", "question": "Both?", "answers": [{"text": "nine", "answer_start": 20}], "is_impossible": True},
        {"id": "s9", "question": " ", "answers": []},
        row(1, "When again?", "nine", 20),
    )
    data["data"] += [[], {"title": "Piers", "paragraphs": [{"context": None, "qas": []}]}]
    outcome, questions = bring(workspace, corpus, json.dumps(data).encode(), "squad.json")
    reasons = {number: reason for _, number, reason in told(workspace, outcome)}
    assert set(reasons) == {2, 3, 4, 5, 7, 8, 9, 10, 11, 12}
    assert "paragraph 1 of article 3 ('Piers')" in reasons[12]
    assert "does not stand at 3 of its paragraph, but once, at 41: repaired" in reasons[2]
    assert "but 2 times elsewhere" in reasons[3]
    assert "nowhere else" in reasons[4]
    assert (outcome.repaired, outcome.problems, outcome.imported) == (1, 9, 3)
    assert questions["s2"].evidence[0][0].start == FERRY.index("pier two")
    assert questions["s6"].kind == "unanswerable"
    assert "Plausible answers of 1" in outcome.notes[0]


def test_a_test_set_of_ragas_is_found_in_the_documents(workspace, corpus):
    one = add(workspace, corpus, "ferry.md", f"# Ferry\n\n{FERRY}\n\nDogs travel free.\n")
    two = add(workspace, corpus, "码头.md", PIER)
    rows = [
        {"user_input": "When does it leave?", "reference": "At nine.", "query_style": "MISSPELLED",
         "reference_contexts": ["The ferry leaves at\nnine."], "response": "ignored",
         "synthesizer_name": "single_hop_specifc_query_synthesizer"},
        {"user_input": "Which pier, and since when?", "reference": "Two, 1998.",
         "reference_contexts": ["<1-hop>\n\nIt leaves from pier two.", "<2-hop>\n\n二号码头在1998年建成"],
         "synthesizer_name": "multi_hop_abstract_query_synthesizer"},
        {"user_input": "Gone?", "reference": "Yes.", "reference_contexts": ["This is in no document."]},
        {"user_input": "Gone too?", "reference_contexts": ["This is in no document."]},
        {"user_input": "", "reference": "x"},
        {"user_input": "List?", "reference": "x", "reference_contexts": {"a": 1}},
        {"user_input": [{"content": "When does it leave?", "type": "human"}, {"content": "At nine.", "type": "ai"},
                        {"content": "And dogs?", "type": "human"}],
         "reference": "Free.", "reference_contexts": ["Dogs travel free."]},
        {"user_input": "Who steers?", "reference": "unanswerable"},
    ]  # fmt: skip
    outcome, questions = bring(workspace, corpus, lines(rows), "testset.jsonl")
    first, second, gone, dogs, steers = questions.values()
    assert outcome.format == "ragas"
    assert [[span.text for span in group] for group in first.evidence] == [["The ferry leaves at nine."]]
    assert (first.type, first.style, first.evidence[0][0].document_id) == ("fact", "misspelt", one.id)
    assert [group[0].text for group in second.evidence] == ["It leaves from pier two.", "二号码头在1998年建成"]
    assert [group[0].document_id for group in second.evidence] == [one.id, two.id]
    assert (second.type, second.kind, gone.kind) == ("bridge", "multi", "reference")
    assert (dogs.text, dogs.history) == ("And dogs?", (("When does it leave?", "At nine."),))
    assert [number for _, number, _ in told(workspace, outcome)] == [3, 4, 5, 6]
    assert (outcome.repaired, outcome.problems, outcome.reference_only) == (1, 3, 1)
    assert "'response'" in outcome.notes[0]
    workspace.store.questions.put(workspace.store.sets.get("s").id, [replace(steers, answer="")])
    written = exchange.export_set(workspace, workspace.store.sets.get("s"), "ragas")
    again, same = bring(workspace, corpus, written.data, "out.jsonl", into="again")
    kept = [(q.evidence, q.kind) for q in questions.values()]
    assert (again.problems, [(q.evidence, q.kind) for q in same.values()]) == (0, kept)


# DeepEval, LlamaIndex, AutoRAG

PASSAGES = ["The ferry leaves at nine.", "It leaves from pier two."]
GOLDEN = {"input": "When?", "expected_output": "At nine.", "context": PASSAGES, "actual_output": None}
EXAMPLE = {"query": "When?", "reference_answer": "At nine.", "reference_contexts": PASSAGES}
QA = {"qid": "a", "query": "When?", "generation_gt": ["At nine.", "nine"], "retrieval_gt": [["p1", "p0"], ["p2"]]}


def csv_of(*rows):
    return "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows).encode()


@pytest.mark.parametrize(
    ("expected", "members"),
    [
        ("deepeval", {"g.json": json.dumps([GOLDEN], indent=1)}),
        ("deepeval", {"g.csv": csv_of(list(GOLDEN)[:3], ["When?", "At nine.", "|".join(PASSAGES)])}),
        ("deepeval", {"langfuse.csv": csv_of(["input", "expected_output", "context"], [
            '{"question": "When?"}', '{"answer": "At nine."}', json.dumps(PASSAGES)])}),
        ("llamaindex", {"rag.json": json.dumps({"examples": [EXAMPLE]}, indent=4)}),
        ("autorag", {"qa.jsonl": lines([QA | {"retrieval_gt_contents": [[each] for each in PASSAGES]}])}),
    ],
)  # fmt: skip
def test_passages_that_other_programs_quote_become_the_evidence(workspace, corpus, expected, members):
    add(workspace, corpus, "ferry.md", f"# Ferry\n\n{FERRY}\n")
    outcome, questions = bring(workspace, corpus, zipped(members))
    [question] = questions.values()
    assert (outcome.format, outcome.problems, outcome.repaired) == (expected, 0, 0)
    assert (question.text, question.answer) == ("When?", "At nine.")
    assert [[span.text for span in group] for group in question.evidence] == [[each] for each in PASSAGES]


def test_relevant_documents_of_llamaindex_are_alternatives(workspace, corpus):
    add(workspace, corpus, "ferry.md", FERRY)
    data = {
        "queries": {"q7": "When?"},
        "corpus": dict(zip("ab", PASSAGES, strict=True)),
        "relevant_docs": {"q7": ["a", "b"]},
    }
    _, questions = bring(workspace, corpus, json.dumps(data).encode(), "qa.json")
    assert [[span.text for span in group] for group in questions["q7"].evidence] == [PASSAGES]


WORDS = st.lists(st.sampled_from(["ab", "cd", "ef", "码头", "gh"]), min_size=1, max_size=40)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(WORDS, st.integers(0, 39), st.integers(1, 8))
def test_located_passages_are_those_that_a_search_finds(words, start, length):
    """Every place is found, and each holds the passage's own words."""
    text = " ".join(words)
    passage = " ".join(words[start : start + length])
    found = located([passage], [document("d", text)])[passage] if passage else []
    places, at = [], text.find(passage)
    while passage and at >= 0:
        if (at == 0 or text[at - 1] == " ") and text[at + len(passage) : at + len(passage) + 1] in ("", " "):
            places.append(at)
        at = text.find(passage, at + 1)
    assert [span.start for span in found] == places[:20]
    assert all(text[span.start : span.end] == span.text == passage for span in found)


TOPICS = """
<top>
<num> Number: 301
<title> Harbour hours

<desc> Description:
When does the harbour open?
<narr> Narrative: …
</top>
<top><num> Number: 302 <title>Ferry &amp; cars</top>
<top><num> Number: 303 <title></top>
<top><num> Number: 304 <title>Nothing judged</top>
"""
QRELS = "301 0 d1 2\n301 0 d2 0\n301 0 gone 1\n302 0 ferries/d2 1\n999 0 d1 1\n"


@pytest.mark.parametrize(
    "topics",
    [
        TOPICS,
        '<?xml version="1.0"?><topics><topic number="301"><query>Harbour hours</query></topic>'
        '<topic number="302"><title>Ferry &amp; cars</title></topic></topics>',
        "301\tHarbour hours\n302\tFerry & cars\n",
    ],
)
def test_topics_and_judgements_of_trec_are_about_documents_by_name(workspace, corpus, topics):
    add(workspace, corpus, "d1.txt", "The harbour opens at six.")
    two = add(workspace, corpus, "ferries/d2.txt", "The ferry carries forty cars.")
    data = zipped({"topics.txt": topics, "qrels.txt": QRELS})
    outcome, questions = bring(workspace, corpus, data)
    assert outcome.format == "trec"
    assert {i: q.text for i, q in questions.items()} == {"301": "Harbour hours"} | (
        {"302": "Ferry & cars"} if "302" in questions else {}
    )
    [[span]] = questions["301"].evidence
    assert (span.grade, span.text) == (2, "The harbour opens at six.")
    problems = told(workspace, outcome)
    assert ("qrels.txt", 3) in [(name, row) for name, row, _ in problems]
    assert ("qrels.txt", 5) in [(name, row) for name, row, _ in problems]  # of a topic that is not there
    assert two.name == "ferries/d2.txt"


# Our own JSONL and CSV

DESK = document("desk.md", "The desk lends maps for 21 days.\nFines are one euro a day. 雪链放在车库里。\n")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20)
NAMED = TEXTS.map(str.strip).filter(bool)


@st.composite
def evidences(draw):
    def span():
        start = draw(st.integers(0, len(DESK.text) - 2))
        end = draw(st.integers(start + 1, len(DESK.text)))
        grade = draw(st.sampled_from([1.0, 2.0, 0.5]))
        if draw(st.integers(0, 5)) == 0:
            return Span("f" * 16, start, end, "gone", stale=True, grade=grade)
        return Span(DESK.id, start, end, DESK.text[start:end], grade=grade)

    return tuple(tuple(span() for _ in range(draw(st.integers(1, 2)))) for _ in range(draw(st.integers(0, 3))))


@st.composite
def questions_of_every_kind(draw):
    evidence = draw(evidences())
    answer = draw(st.one_of(TEXTS, st.sampled_from(["n/a", "No answer.", "无法回答", "unanswerable"])))
    return Question(
        id=draw(st.text("abcdef0123456789-_:", min_size=1, max_size=64)),
        text=draw(NAMED),
        answer=answer,
        evidence=evidence,
        generator=draw(st.sampled_from(["extractive", "gpt-4o", "import", "hand", "log"])),
        status=draw(st.sampled_from(get_args(QuestionStatus))),
        reason=draw(TEXTS),
        language=draw(st.sampled_from(["en", "zh", "und"])),
        source_chunks=tuple(draw(st.lists(st.sampled_from(["a-00000001-00000002", "b"]), max_size=2))),
        unanswerable=draw(st.booleans()) if not evidence and answer.strip() else False,
        split=draw(st.sampled_from(["", "validation", "test"])),
        type=draw(st.sampled_from(get_args(QuestionType))),
        style=draw(st.sampled_from(get_args(QuestionStyle))),
        parts=tuple(draw(TEXTS) for _ in evidence) if draw(st.booleans()) else (),
        history=tuple(draw(st.lists(st.tuples(TEXTS, TEXTS), max_size=2))),
        verified_by=draw(st.sampled_from(["", "rules", "gpt-4o"])),
    )


@settings(max_examples=100)
@given(st.lists(questions_of_every_kind(), max_size=4, unique_by=lambda question: question.id))
def test_jsonl_and_csv_lose_nothing(questions):
    for file_format in ("jsonl", "csv"):
        data = interchange.write_questions(questions, {DESK.id: DESK.name}, file_format)
        imported = interchange.read_questions(data, f"q.{file_format}", {DESK.name: DESK})
        assert imported.problems == ()
        assert list(imported.questions) == questions


def test_a_table_of_questions_and_chunks_goes_out_and_in(workspace, corpus):
    """The chunk a question was made from is named where it holds the evidence, else the evidence itself."""
    ferry = add(workspace, corpus, "ferry.md", FERRY)
    chunk, nine = Chunk.make_id(ferry.id, 0, 25), Span(ferry.id, 20, 24, "nine")
    pier = Span(ferry.id, 41, 49, "pier two")
    questions = [
        Question("a", "When?", "nine", ((nine,),), "hand", "accepted", source_chunks=(chunk,)),
        Question("b", "When, where?", "nine, two", ((nine,), (pier,)), "hand", "accepted", source_chunks=(chunk,)),
        Question("c", "Why?", "", (), "hand", "accepted"),
        Question("d", "Who?", "Ada", ((nine,),), "hand", "rejected", "no"),
    ]
    workspace.store.questions.put(workspace.store.sets.add(corpus.id, "s").id, questions)
    written = exchange.export_set(workspace, workspace.store.sets.get("s"), "qa")
    ends = f"{ferry.id}-{pier.start:08d}-{pier.end:08d}"
    assert written.data.decode("utf-8-sig").splitlines() == [
        "question,ground_truth_answer,chunk_id,document",
        f"When?,nine,{chunk},ferry.md",
        f'"When, where?","nine, two","{chunk}, {ends}",ferry.md',
        "Why?,unanswerable,,",
    ]
    outcome, again = bring(workspace, corpus, written.data, "qa_dataset_limit=3.csv", into="t")
    assert (outcome.imported, outcome.problems) == (3, 0)
    by_text = {question.text: question for question in again.values()}
    assert [[span.text for span in group] for group in by_text["When, where?"].evidence] == [[FERRY[:25]], ["pier two"]]
    assert by_text["Why?"].kind == "unanswerable"


def test_formats_are_recognised():
    def look(name, text):
        return set_formats.recognised(input_file.from_bytes(name, text if isinstance(text, bytes) else text.encode()))

    assert look("t.csv", "user_input,reference\nA?,B\n") == "ragas"
    assert look("z.zip", zipped(beir("deep/er/"))) == "beir"
    for named, text in (
        ("InspectorRAGet", '{"models": [], "tasks": [], "evaluations": []}'),
        ("RAGChecker", '{"results": [{"query_id": 1, "retrieved_context": []}]}'),
        ("promptfoo", "question,__expected\nA?,contains: B\n"),
    ):
        with pytest.raises(InputError, match=named):
            look("f", text)
    with pytest.raises(InputError, match="no BEIR folder"):
        look("z.zip", zipped({"a.csv": "question\n", "b.csv": "question\n"}))
    with pytest.raises(InputError, match="no file"):
        look("z.zip", zipped({}))
