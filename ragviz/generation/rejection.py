"""Rules by which a generated question is rejected."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ragviz.core.question import Question
from ragviz.text import segmentation
from ragviz.text.words import content_words, stem

_REFERS = re.compile(
    r"\baccording to\b|\bas (?:mentioned|described|stated|shown|noted|listed|discussed) (?:above|below|here|earlier)\b"
    r"|\b(?:the|this|that|these|above|following|given|provided|preceding)\s+(?:(?:above|following|given|provided|first|"
    r"second|third|short)\s+)?(?:text|passage|excerpt|paragraph|snippet|chunk|document|article|context)s?\b"
    r"|(?<![中英日俄法德语论作散杂课正])[文](?:中|内)(?!学|文|国|心|间)|[本该此原这](?:文(?![件化明字书本档学献])|段|节|篇|文档)|(?<!以)[上下]文(?![件化明学])"
    r"|(?:根据|依据|按照)(?:以上|上述|上面|下面|文|本|该|所给|给定|提供)|(?:以上|上述|所给|给定)(?:内容|材料|文字|段落|信息|资料)|文档中|段落中|材料中",
    re.IGNORECASE,
)

_UNSAID = re.compile(
    r"(?<![“‘\"'])\b(?:it|they|them|he|she|him)\b"
    r"|\b(?:this|that|these|those)(?=\s*(?:[?.!,]|$|(?:is|are|was|were|do|does|did|has|have|had|can|will|mean)\b))"
    r"|(?:(?<![其排])[它他]|她)们?(?![人国乡])|[这那](?:里|儿|些|个)?(?=[是有在会能可说的，,？?]|$)",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(r"\s.*\b(?:to|that|if|when|whether|for|who|which|from|in)\s+\w", re.IGNORECASE)
"""What follows an "it" that stands for nothing: "How long does it take to …?", "How far is it from …?"."""

COPIED = 0.8
"""Share of a question's words that stands in its evidence, from which it copies the passage."""
LEAST_COPIED = 3
"""Words from which on a question can copy: it has to name what it asks about."""


def copied(question: Question) -> float:
    """Return which share of a question's words of content stands in its evidence; 0 where hardly any does."""
    evidence = "\n".join(span.text for span in question.spans)
    asked = {stem(word) for word in content_words(question.text, question.language)}
    shared = asked & {stem(word) for word in content_words(evidence, question.language)}
    return len(shared) / len(asked) if len(shared) >= LEAST_COPIED else 0.0


def refers_elsewhere(question: str) -> str:
    """Return the words of a question that refer to what nobody who asks has seen, or to nothing; "" for none.

    A pronoun refers to nothing where no word of content stands before it.

    >>> refers_elsewhere("What does it say there?"), refers_elsewhere("它是什么时候成立的？")
    ('it', '它')
    >>> refers_elsewhere("How long does it take to get a card?"), refers_elsewhere("Is the hall open, and is it free?")
    ('', '')
    """
    if reference := _REFERS.search(question):
        return reference.group()
    match = _UNSAID.search(question)
    lang = "zh" if re.search(r"[\u4e00-\u9fff]", question) else "en"
    if match is None or content_words(question[: match.start()], lang):
        return ""
    is_expletive = match.group().lower() == "it" and _EXPLETIVE.match(question, match.end())
    return "" if is_expletive else match.group()


def reject(question: Question, context: str) -> str:
    """Return why `question` is rejected, or "" when it is not.

    `context` is the text of the chunks it was made from. Rejected are an empty or very short question, an empty answer,
    a question that refers to "the text" or "文中" (which the asker has not seen) or holds its answer, and an answer
    that is not in the chunks (three of five of its words and every number must be).
    """
    question_words, answer_words = words(question.text), words(question.answer)
    if not question_words:
        return "the question is empty"
    if len(question_words) < 4:
        return "the question is too short"
    if not answer_words:
        return "the answer is empty"
    if reference := _REFERS.search(question.text):
        return f"refers to what nobody who asks has seen: “{reference.group()}”"
    if _contains(question_words, answer_words):
        return "the question holds its answer"
    if not any(_supported(answer_words, words(text)) for text in (segmentation.read(context).text, context)):
        return "the answer is not in the chunk"
    return ""


def normal(text: str) -> str:
    """Return a question's text in the form in which repetitions are equal."""
    return " ".join(words(text))


def words(text: str) -> list[str]:
    """Return the words in lower case without articles, Chinese by character: a part of a word never equals it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [w for w in re.findall(r"[^\W\u3040-\u9fff_]+|[\u3040-\u9fff]", folded) if w not in ("a", "an", "the")]


def _contains(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return f" {' '.join(phrase)} " in f" {' '.join(words)} "


def _supported(answer: Sequence[str], context: Sequence[str]) -> bool:
    """Return whether the answer occurs in the context, or all of its numbers and three of five of its words do."""
    if _contains(context, answer):
        return True
    context_words = set(context)
    numbers = [word for word in answer if any(c.isdigit() for c in word)]
    return all(word in context_words for word in numbers) and sum(
        word in context_words for word in answer
    ) >= 0.6 * len(answer)
