"""Chunks of every chunker, on every kind of text: offsets, coverage, sizes, overlaps."""

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Chunk, Document, Page
from ragviz.index import chunking, packing
from ragviz.models.tokenizer import open_tokenizer
from ragviz.text import segmentation

WORD_PIECES = open_tokenizer("all-MiniLM-L6-v2")


class Bytes:
    """One token for each UTF-8 byte, as byte-level models do for rare characters; blanks are tokens too."""

    def offsets(self, text):
        return [(i, i + 1) for i, c in enumerate(text) for _ in c.encode("utf-8", "replace")]


class Spaced:
    """Tokens that begin with the blanks before them, as byte-pair models have; a final blank is in no token."""

    def offsets(self, text):
        spans, start, inside = [], 0, False
        for i, c in enumerate(text):
            if c.isspace() and inside:
                spans.append((start, i))
                start, inside = i, False
            inside = inside or not c.isspace()
        return [*spans, (start, len(text))] if inside else spans


class Deaf:
    """Reads ASCII letters only, one token each; everything else is in no token."""

    def offsets(self, text):
        return [(i, i + 1) for i, c in enumerate(text) if c.isascii() and c.isalpha()]


TOKENIZERS = {"word pieces": WORD_PIECES, "bytes": Bytes(), "spaced": Spaced(), "deaf": Deaf()}

PIECES = [
    *("The quick brown fox jumps over the lazy dog.", "Internationalization", "3.14159", "don't", "e.g. Dr. Li", "a"),
    *("连接池的默认大小是十个。", "数据库", "他说：“你好！”", "，", "ＡＢＣ１２３", "日本語のカタカナ", "한국어", "각"),
    *("👨‍👩‍👧‍👦", "🇩🇪🇫🇷🇨🇳", "👍🏽", "❤️", "e\u0301", "Z\u0351\u036b\u0343\u036a", "నమస్తే", "สวัสดีครับ", "ﬁ", "İ"),
    *(
        "שלום עולם", "مرحبا بالعالم", "\u202eabc\u202c", "\u200b", "\u200b\u200b", "\ufeff", "\ufffd", "\x00", "\x1c",
        "\xad",
    ),
    *(" ", "  ", "\t", "\n", "\n\n", "\r\n", "\r\n\r\n", "\u3000", "\xa0", "\u2028", "\x0c", "\x0b", "\x85", "\u2003"),
    *(
        "# Title\n", "\n- item one\n- item two\n", "1. first\n", "```py\nx = 1\n```\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
    ),
    *(
        "x" * 120,
        "supercalifragilistic" * 8,
        "字" * 90,
        "ab" * 300,
        "=" * 50,
        "https://example.org/a/b?c=d&e=f#g",
        "\ud800",
    ),
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=40).map("".join) | st.text(max_size=200)
sizes = st.integers(1, 60)
choices = {
    "text": texts,
    "chunker": st.sampled_from(sorted(chunking.CHUNKERS)),
    "tokenizer": st.sampled_from(sorted(TOKENIZERS)),
    "size": sizes,
    "share": st.integers(0, 99),
    "media_type": st.sampled_from(["text/markdown", "text/plain", "application/pdf"]),
}


def document(text, *, media_type="text/markdown", lang="en", pages=()):
    return Document(Document.make_id("d", text), "d", text, pages, lang, media_type, "", len(text))


def cut(text, chunker="tokens", size=200, overlap=0, tokenizer=WORD_PIECES, **more):
    config = IndexConfig(chunker=chunker, chunk_size=size, overlap=overlap)
    return chunking.split(document(text, **more), config, tokenizer, segmentation.sentences)


def own_count(text, spans, start, end):
    """Tokens that end inside [start, end), counted one by one."""
    return sum(start < span_end <= end for _, span_end in spans)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(**choices)
@example(text="", chunker="tokens", tokenizer="word pieces", size=5, share=0, media_type="text/plain")
@example(text=" \n\t\u3000\r\n", chunker="recursive", tokenizer="bytes", size=5, share=0, media_type="text/markdown")
@example(text="각각 각", chunker="tokens", tokenizer="word pieces", size=1, share=0, media_type="text/plain")
def test_every_chunking(text, chunker, tokenizer, size, share, media_type):
    overlap = share * (size - 1) // 99
    reader = TOKENIZERS[tokenizer]
    chunks = cut(text, chunker, size, overlap, reader, media_type=media_type)
    spans = reader.offsets(text)

    covered = set()
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text
        assert chunk.text == chunk.text.strip()
        assert chunk.id == Chunk.make_id(document(text).id, chunk.start, chunk.end)
        assert chunk.tokens == own_count(text, spans, chunk.start, chunk.end)
        if chunk.tokens > size:  # then they are all tokens of one character, which is never cut
            assert len({span for span in spans if chunk.start < span[1] <= chunk.end}) == 1
        covered.update(range(chunk.start, chunk.end))
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for left, right in pairwise(chunks):
        assert left.start < right.start or left.end < right.start
        assert left.end < right.end
        shared = own_count(text, spans, right.start, left.end) if right.start < left.end else 0
        assert shared <= overlap
        if overlap == 0:
            assert left.end <= right.start


ENGLISH = ["The pump was replaced in 2023.", "It cost $1,250.50 (3.5%).", "See https://example.org/a?b=c#d!", "Don't."]
CHINESE = [
    "连接池默认为10个连接。", "望远镜在2,168米的山顶，使用WICK系统。", "请在9:30前到达！",
    "费用3.5万元；见GPT-4o说明。",
]  # fmt: skip
TITLES = ["# Rates", "## 收费标准", "### Travel and lodging 2.1", "#### A", "Leave\n-----", "天气\n===="]
blocks = st.sampled_from(
    [*TITLES, *ENGLISH, *CHINESE, "- Emil said it.\n- 他来了。", "```\n# a comment\n```", "| a | b |\n|---|---|"]
)
sectioned = st.lists(blocks | st.lists(st.sampled_from([*ENGLISH, *CHINESE]), min_size=2, max_size=6).map(" ".join))
WORD = re.compile(r"[^\W_\u3400-\u9fff]+(?:[-'.,:][^\W_\u3400-\u9fff]+)*")


UNBROKEN = re.compile(r"[^\s\u2e80-\u9fff\uff00-\uff0f\uff1a-\uff20]+")
FIRST_WORD = re.compile(rf"\W*\w(?:{UNBROKEN.pattern})?")


def runs_of_headings(blocks):
    """The headings among blocks joined by empty lines, those that follow each other together."""
    runs, at, before = [], 0, ""
    for block in blocks:
        if block in TITLES:
            runs += [] if before in TITLES else [[]]
            runs[-1].append((at, at + len(block)))
        at, before = at + len(block) + 2, block
    return runs


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(
    blocks=sectioned,
    chunker=st.sampled_from(sorted(chunking.CHUNKERS)),
    size=st.integers(4, 80),
    share=st.integers(0, 60),
    lang=st.sampled_from(["en", "zh"]),
)
@example(blocks=["# Rates", ENGLISH[0]], chunker="recursive", size=10, share=0, lang="en")
@example(blocks=["# Rates"] * 9 + [CHINESE[0]], chunker="tokens", size=10, share=50, lang="zh")
def test_headings_stay_with_their_text_and_words_stay_whole(blocks, chunker, size, share, lang):
    text = "\n\n".join(blocks)
    spans = WORD_PIECES.offsets(text)
    chunks = cut(text, chunker, size, share * (size - 1) // 100, lang=lang)
    for chunk in chunks:
        for run in runs_of_headings(blocks):
            ending = next((h for h in run if h[0] < chunk.end <= h[1]), None)
            first = FIRST_WORD.match(text, run[-1][1])
            if ending is not None and first is not None:  # then they do not fit a chunk together
                kept = ending if ending == run[-1] else run[0]
                assert own_count(text, spans, kept[0], first.end()) > size, chunk
        for word in WORD.finditer(text):
            if any(word.start() < at < word.end() for at in (chunk.start, chunk.end)):  # then it does not fit a chunk
                whole = next(w for w in UNBROKEN.finditer(text) if word.end() <= w.end())
                assert own_count(text, spans, *whole.span()) > size, (chunk, word)


@settings(max_examples=150)
@given(text=texts, chunker=st.sampled_from(["tokens", "sentences"]))
def test_no_grapheme_is_cut(text, chunker):
    """Against the `regex` package's extended grapheme clusters, on texts where each of them fits a chunk."""
    regex = pytest.importorskip("regex")
    starts = [match.start() for match in regex.finditer(r"\X", text)]
    for chunk in cut(text, chunker, size=60):
        inside = chunk.start not in starts and not text[chunk.start - 1].isspace()
        assert not inside or any(len(c) > 60 for c in regex.findall(r"\X", text)), (chunk, text)


@settings(max_examples=100)
@given(
    text=st.lists(st.sampled_from(PIECES[:25]), max_size=60).map(" ".join),
    chunker=st.sampled_from(["tokens", "sentences"]),
)
def test_a_chunk_of_whole_words_has_as_many_tokens_on_its_own(text, chunker):
    for chunk in cut(text, chunker, size=150):
        assert chunk.tokens == len(WORD_PIECES.offsets(chunk.text))


def test_windows_of_tokens_by_hand():
    text = "one two three four five six seven eight nine ten"
    assert [c.text for c in cut(text, size=4)] == ["one two three four", "five six seven eight", "nine ten"]
    assert [c.text for c in cut(text, size=4, overlap=1)] == [
        "one two three four",
        "four five six seven",
        "seven eight nine ten",
    ]
    assert [(c.start, c.end, c.tokens) for c in cut("  数据库连接池 \n", size=4)] == [(2, 6, 4), (6, 8, 2)]


def test_a_word_is_cut_only_where_it_is_longer_than_a_chunk():
    assert [len(WORD_PIECES.offsets(word)) for word in ("unhappiness", "antidisestablishmentarianism")] == [4, 8]
    text = "unhappiness antidisestablishmentarianism"
    assert [c.text for c in cut(text, size=9)] == text.split()
    assert [c.text for c in cut("unhappiness", size=2)] == ["unha", "ppiness"]
    assert [c.text for c in cut("unhappiness", size=1)] == ["un", "ha", "pp", "iness"]


def test_sentences_by_hand():
    text = "Anna came. Bert went away. Carla stayed.\n\n- Dora\n- Emil said it. Then he slept."
    assert [(c.text, c.tokens) for c in cut(text, "sentences", size=7)] == [
        ("Anna came. Bert went away.", 7),
        ("Carla stayed.\n\n- Dora", 5),
        ("- Emil said it.", 5),
        ("Then he slept.", 4),
    ]
    assert [c.text for c in cut("他来了。她走了。我在。", "sentences", size=8, lang="zh")] == [
        "他来了。她走了。",
        "我在。",
    ]
    assert [c.text for c in cut("他来了。她走了。我在。", "sentences", size=8, overlap=4, lang="zh")] == [
        "他来了。她走了。",
        "她走了。我在。",
    ]


def test_markdown_is_cut_at_its_headings():
    text = "# Leave\n\nTwenty five days a year.\n\n# Travel\n\nBook the train early.\n"
    assert [c.text for c in cut(text, "recursive", size=12)] == [
        "# Leave\n\nTwenty five days a year.",
        "# Travel\n\nBook the train early.",
    ]
    rows = "name,city\nAnna,Rome\nBert,Oslo\nCarla,Bonn"
    assert [c.text for c in cut(rows, "recursive", size=7, media_type="text/csv")] == [
        "name,city\nAnna,Rome",
        "Bert,Oslo\nCarla,Bonn",
    ]


def test_pages():
    text = "one two\n\nthree four five\n\n\nsix seven"  # page 3 is empty
    pages = (Page(1, 0, 7), Page(2, 9, 24), Page(3, 26, 26), Page(7, 27, 36))
    made = document(text, pages=pages)
    assert [chunking.page_at(made, at) for at in (0, 6, 9, 23, 27, 35)] == [1, 1, 2, 2, 7, 7]
    assert chunking.page_at(document("x"), 0) is None
    chunks = chunking.split(made, IndexConfig(chunk_size=3), WORD_PIECES)
    assert [(c.text, c.page) for c in chunks] == [
        ("one two\n\nthree", 1),  # a chunk may go over the end of a page
        ("four five\n\n\nsix", 2),
        ("seven", 7),
    ]


LONG = {
    "en": "".join(
        f"The records of office {n} are kept for {n % 9} years. " + "\n\n## Part\n\n" * (n % 9 == 0) for n in range(400)
    ),
    "zh": "".join(
        f"第{n}号办公室的档案保存{n % 9}年，除非法院要求提前调取。" + "\n\n" * (n % 9 == 0) for n in range(700)
    ),
    "signs": "".join(
        f"- {n}_a*b*: `x{n}` [{n}](u)\n" + "```\ncode\n```\n\nText.\n\n" * (n % 20 == 0) for n in range(500)
    ),
}


@pytest.mark.parametrize("overlap", [0, 20])
@pytest.mark.parametrize("language_of_text", LONG)
@pytest.mark.parametrize("chunker", sorted(chunking.CHUNKERS))
def test_a_text_tokenized_in_windows_is_cut_as_in_one(chunker, language_of_text, overlap, monkeypatch):
    text = LONG[language_of_text]
    whole = cut(text, chunker, 60, overlap, lang=language_of_text)
    monkeypatch.setattr(packing, "WINDOW", 1500)
    monkeypatch.setattr(chunking, "PART", 4000)
    assert cut(text, chunker, 60, overlap, lang=language_of_text) == whole
