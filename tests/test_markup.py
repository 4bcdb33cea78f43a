"""Untrusted text is shown as text: nothing in it becomes markup, nothing of it gets lost."""

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ragviz.text import markup
from ragviz.text.names import distinct

HOSTILE = "<script>alert(1)</script> <img src=x onerror=y> [a](javascript:x) $x$ `c` *b* _i_ ~s~ :red[r] :smile: a|b #h"
texts = st.text(alphabet=st.characters(), max_size=120)


def shown(text: str) -> str:
    """The text of HTML that a reader sees: no tags, entities as characters, without the labels of folds."""
    without = re.sub(r"<summary>.*?</summary>|<span class=\"page\">.*?</span>", "", text)
    return html.unescape(re.sub(r"<[^>]*>", "", without))


@given(texts)
def test_plain_escapes_every_mark_of_markdown(text: str) -> None:
    assert "".join(words for _, words in read(markup.plain(text))) == " ".join(markup.visible(text).split())


def read(escaped: str) -> list[tuple[str, str]]:
    """A line of markdown as a parser reads it: (kind, text) of text and code; nothing else may be in it."""
    blocks = [block for block in MarkdownIt("commonmark").parse(escaped) if block.children is not None]
    parts = [part for block in blocks for part in block.children or ()]
    assert {block.type for block in blocks} <= {"inline"}
    assert {part.type for part in parts} <= {"text", "text_special", "code_inline"}
    return [(part.type, part.content) for part in parts]


INTERPRETED = (  # patterns of remark-gfm, remark-emoji and Streamlit, which look at text that is escaped already
    r":\+1:|:-1:|:100:|:[\w-]*[a-z][\w-]*:", r"(https?://|www(?=\.))([-.\w]+)", r"[-.\w+]+@[-\w]+(?:\.[-\w]+)+",
    r"(^|\s)(<-|->|--|>=|<=|~=)(\s|$)",
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["10:30:00 stays :100:", "`http://evil.example`", "http://a``b`", "[http://a]b](www.evil.example)", "请访问https://e.cn/查看",
     ":smile:", ":+1: :100:", ":material/home:", "https://evil.example/x", "(HTTP://evil.example)", "WWW.evil.example",
     "a.b@evil.example", "mailto:a@evil.example", "a -> b <- c -- d >= e <= f ~= g", "<https://evil.example>"],
)  # fmt: skip
def test_plain_parts_what_is_read_again_after_escaping(text: str) -> None:
    parts = read(markup.plain(text))
    words = "".join("`" if kind == "code_inline" else words for kind, words in parts)
    assert not any(re.search(pattern, words, re.IGNORECASE) for pattern in INTERPRETED)
    assert "".join(words for _, words in parts) == text  # so what is copied is what was written


@given(texts)
def test_visible_keeps_the_length_and_can_be_sent(text: str) -> None:
    shown_text = markup.visible(text)
    assert len(shown_text) == len(text)
    shown_text.encode("utf-8")


@given(texts, st.lists(st.tuples(st.integers(-5, 130), st.integers(-5, 130))), st.sampled_from([None, 1, 10]))
def test_highlighting_shows_the_whole_text_and_only_our_tags(
    text: str, ranges: list[tuple[int, int]], fold: int | None
) -> None:
    out = markup.highlighted(text, gold=ranges[::2], hits=ranges[1::2], fold=fold)
    assert shown(out) == markup.visible(text)
    tags = set(re.findall(r"</?([a-zA-Z]+)", re.sub(r"&[^;]+;", "", out)))
    assert tags <= {"div", "mark", "details", "summary"}


@given(texts.filter(bool), st.data())
def test_exactly_the_gold_is_marked(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    marked = re.findall(r'<mark class="gold">(.*?)</mark>', markup.highlighted(text, [(start, end)], fold=None), re.S)
    assert html.unescape("".join(marked)) == markup.visible(text[start:end])


def test_a_language_cannot_make_markup() -> None:
    assert markup.highlighted("x", language='"><script>').count("<script>") == 0


@given(texts, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 70)).map(lambda p: (p[0], p[0] + p[1]))))
def test_cuts_show_the_whole_text(text: str, chunks: list[tuple[int, int]]) -> None:
    assert shown(markup.cuts(text, chunks)) == markup.visible(text)


@given(texts, st.integers(1, 40))
def test_parts_hold_the_whole_text(text: str, size: int) -> None:
    parts = markup.parts(text, size)
    assert "".join(text[start:end] for start, end in parts) == text
    assert all(end - start <= size for start, end in parts)


@given(texts)
def test_claimed_text_reads_as_it_is_written(text: str) -> None:
    middle = len(text) // 2
    sentences = [
        markup.MarkedSentence(0, middle, ((1, "supported"), (2, "absent")), stance="for"),
        markup.MarkedSentence(middle, len(text), own=True),
    ]
    made = markup.claimed(text, sentences)
    assert shown(re.sub(r"<sup.*?</sup>", "", made)) == markup.visible(text)


def test_the_worst_verdict_underlines_a_sentence_and_every_claim_has_its_sign() -> None:
    sentences = [markup.MarkedSentence(0, 2, ((1, "supported"), (2, "contradicted"), (3, None)), own=True)]
    made = markup.claimed("A. B.", sentences)
    assert '<mark class="contradicted own">A.</mark>' in made
    assert re.findall(r"<sup[^>]*>(.*?)</sup>", made) == ["1✓", "2✗", "3"]


@pytest.mark.parametrize("hostile", [HOSTILE, "</details><script>", '"><b>'])
def test_judges_and_documents_cannot_make_markup_of_scores_and_banks(hostile: str) -> None:
    made = markup.measure("Faithfulness", None, hostile, hostile, [hostile])
    made += markup.code(hostile) + markup.code(json.dumps({hostile: [hostile]})) + markup.badges([("for", hostile)])
    made += markup.claimed(hostile, [markup.MarkedSentence(0, 3, ((1, "absent"),))])
    assert not re.search(r"<(script|img|b>)", made.replace("<b>0.50", "").replace("<b>&quot;", ""))
    assert html.escape(hostile) in made


NAMES = st.lists(st.text(alphabet="ab-1手册", min_size=1, max_size=30), min_size=1, max_size=8)


@given(NAMES, st.integers(4, 20))
def test_different_names_stay_different_and_fit(names: list[str], most: int) -> None:
    shown = distinct(names, most)
    assert all(len(text) <= most for text in shown)
    assert len(set(shown)) == len(set(names))


@pytest.mark.parametrize(
    ("names", "most", "parts"),
    [
        (["tts-tokens-200-knn-extractive", "tts-tokens-200-hybrid-extractive"], 14, ["knn", "hybrid"]),
        (["左岸供水系统运行手册混合检索第一次", "左岸供水系统运行手册向量检索第一次"], 9, ["混合", "向量"]),
    ],
)
def test_what_differs_remains(names: list[str], most: int, parts: list[str]) -> None:
    shown = distinct(names, most)
    assert len(set(shown)) == len(names)
    for text, part in zip(shown, parts, strict=False):
        assert part in text
