"""Answers without a model: the sentences of the passages that support the question best."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from ragviz.answers import citations, wording
from ragviz.answers.contexts import Fitted
from ragviz.answers.wording import REFUSALS, VERSIONS
from ragviz.records import Answer, Question
from ragviz.text import language, prose, segmentation
from ragviz.text.words import tokens

SHARED = 2
"""Words of the question that a sentence must share to answer it without a model (all, when it has fewer).

On 250 unanswerable and 250 answerable questions of CLAP NQ, with the first three passages by BM25, 1 refuses 1 and 1, 2
refuses 66 and 28, 3 refuses 167 and 123, 4 refuses 217 and 204: none separates them well, 2 refuses few wrongly.
"""
GAIN = 0.15
"""Share of the question's weight that a second sentence must add to the first."""
LONGEST = 400
"""Characters: a longer sentence is none, but a table or list that lost its lines."""


def extractive(question: Question, given: Fitted, *_: object) -> Answer:
    """The one or two sentences of the context that share most with the question, word for word, each cited.

    A word weighs more the fewer sentences of the context hold it. Headings and questions answer nothing and are passed
    over; a table's row stands for a sentence. Refused when no sentence shares `SHARED` words with the question, which
    is a weak test: what the documents do not tell is often asked in their own words.
    """
    tongue = wording.tongue(question)
    wanted = _words(question.text, tongue)
    said: dict[str, frozenset[str]] = {}
    ranks: dict[str, int] = {}
    for passage in given.passages:
        for sentence, words in _said(passage.text, tongue):
            said[sentence] = words
            ranks.setdefault(sentence, passage.rank)  # said twice where chunks overlap
    picked = _best(wanted, said)
    text = (" " if tongue != "zh" else "").join(_with_citation(s, ranks[s], tongue) for s in picked)
    return Answer(
        question_id=question.id,
        text=text or REFUSALS[wording.of_two(tongue)],
        status="answered" if picked else "refused",
        answerer="extractive",
        context=given.context,
        cut=given.cut,
        citations=tuple(dict.fromkeys(ranks[sentence] for sentence in picked)),
        reason="" if picked else _why_not(wanted, given),
        version=VERSIONS["extractive"],
    )


def _why_not(wanted: frozenset[str], given: Fitted) -> str:
    if not given.passages:
        return "there are no passages to answer from"
    needed = min(SHARED, len(wanted))
    return f"no sentence shares {needed} words with the question" if needed else "the question names nothing"


def _best(wanted: frozenset[str], said: Mapping[str, frozenset[str]]) -> list[str]:
    """The sentence with most of the wanted words' weight, and one that adds enough to it; ties: the first said."""
    held = Counter(word for words in said.values() for word in words & wanted)
    weights = {word: math.log(1 + len(said) / (held[word] + 0.5)) for word in wanted}
    picked: list[str] = []
    left, enough = set(wanted), 0.0
    for _ in range(2):
        fit = [s for s, words in said.items() if s not in picked and len(words & wanted) >= min(SHARED, len(wanted))]
        if not left or not fit:
            break
        gains = {s: sum(weights[word] for word in said[s] & left) for s in fit}
        best = max(gains, key=gains.__getitem__)
        if gains[best] <= enough:
            break
        picked.append(best)
        left -= said[best]
        enough = GAIN * sum(weights.values())
    return picked


@lru_cache(maxsize=4096)
def _said(text: str, tongue: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Sentences and table rows of a passage as they read, with their words; kept, for many questions get a passage."""
    read = prose.read(text)
    found = []
    for start, end in segmentation.sentences(text, language.detect(text)):
        first, last = read.within(start, end)
        sentence = (
            citations.without_citations(" ".join(read.text[first:last].split())).strip("| ").rstrip(" ,;:，、；：")
        )
        if 0 < len(sentence) <= LONGEST and sentence[-1] not in "?？" and not _is_heading(text, start, end):
            found.append((sentence, _words(sentence, tongue)))
    return tuple(found)


def _is_heading(text: str, start: int, end: int) -> bool:
    """Whether the line begins as a heading does, or the next one is the rule under a table's head."""
    following = text[end:].lstrip().split("\n", 1)[0]
    line = text[text.rfind("\n", 0, start) + 1 : end].lstrip()
    return line.startswith("#") or (line.startswith("|") and bool(re.fullmatch(r"[|\s:-]*--[|\s:-]*", following)))


def _with_citation(sentence: str, rank: int, tongue: str) -> str:
    """The sentence with its number before the mark that ends it, which it gets when it has none."""
    end = re.search(r"[.!。！…]+[\"'”’」』)）]*$", sentence)
    body, mark = (sentence[: end.start()], end.group()) if end else (sentence, "。" if tongue == "zh" else ".")
    return f"{body}{'' if tongue == 'zh' else ' '}[{rank}]{mark}"


_ENGLISH = (
    "of and or but nor to in on at by for from with without into onto over under about after before between during"
    " through than then as if so is are was were be been being am do does did doing done has have had having can could"
    " will would shall should may might must i me my we us our you your he him his she her it its they them their this"
    " that these those there here what which who whom whose when where why how much many long often far any some no not"
    " only also just more most very such same own per up out off down again one ones get got give given"
)
_CHINESE = (
    "的 了 是 在 和 与 及 或 也 都 就 才 还 又 再 要 会 能 可以 可 应 应该 有 没有 没 不 吗 呢 吧 啊 什么 哪 哪个 哪些"
    " 哪里 哪儿 谁 怎么 怎样 如何 为什么 为何 多少 几 多 多久 多长 何时 时候 这 那 这个 那个 我 我们 你 你们 他 他们 她"
    " 它 它们 一 一个 个 把 被 对 对于 从 到 由 于 以 为 之 其 该 每 上 下 里 中 内 后 前 时 地 得 着 过 所 请问 最 来"
    " 去 给 让 用 一共"
)
_STOP_WORDS = {"en": frozenset(_ENGLISH.split()), "zh": frozenset(_CHINESE.split())}


def _words(text: str, tongue: str) -> frozenset[str]:
    """Words that say what a text is about, of one form; of a language without a list all of them are taken."""
    words = [word for word in tokens(text, tongue) if word not in _STOP_WORDS.get(tongue, ())]
    return frozenset(map(_stem, words) if tongue == "en" else words)


_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ings", ""), ("ing", ""), ("ed", ""), ("ly", ""))


def _stem(word: str) -> str:
    """An English word without what inflects it, roughly: only to be compared with others of its kind.

    >>> [_stem(word) for word in ("closes", "closing", "stopped", "dishes", "glass", "bus")]
    ['clos', 'clos', 'stop', 'dish', 'glass', 'bus']
    """
    ending = next(((e, to) for e, to in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), None)
    if ending:
        word = word.removesuffix(ending[0]) + ending[1]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
