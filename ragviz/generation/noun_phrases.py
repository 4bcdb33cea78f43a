"""A name as a whole noun phrase of a question: where it stands, and what can stand in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragviz.claims.candidate import word_set
from ragviz.claims.english_clauses import Tree
from ragviz.core.document import Word
from ragviz.generation.entities import bare
from ragviz.text.words import parse

_DETERMINERS = word_set("a an the this that these those our your their its his her my")
_OPENING, _CLOSING = "\"'“‘「『《", "\"'”’」』》"
_MANY, _ONE = word_set("are do were have"), word_set("is does was has")
_DEFINED = re.compile(r"(?P<verb>What|Who) (?:is|was|(?P<many>are|were)) (?:an? |the )?$")
_CHINESE_BEFORE = re.compile(r"[nabmqjlsi]|u[jvd]|eng")  # a word of the phrase that would be cut off before the name
_CHINESE_AFTER = re.compile(r"[nbajlisz]|vn|eng|q|m$|k|g")
_CHINESE_JOINS = word_set("和 与 及 、 或 以及 - — · .")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A whole noun phrase, characters `start` to `end` of a question, with its article and quotation marks.

    `label` is "PERSON", "GPE" (a place that is governed) … where the parser takes it for a name of that kind;
    `kind_known` is false of a single name that may be a person's or a thing's. `possessive` says that an "'s" follows
    inside it, `subject` that the verb is of it.
    """

    question: str
    start: int
    end: int
    plural: bool = False
    label: str = ""
    possessive: bool = False
    kind_known: bool = True
    subject: bool = False

    def replaced(self, phrase: str) -> str:
        """Return the question with `phrase` in its place; a possessive needs its own ending there."""
        text = self.question[: self.start] + phrase + self.question[self.end :]
        return text[:1].upper() + text[1:]

    def renamed(self, old: str, new: str) -> str:
        """Return the question with a name inside the phrase replaced; its article and quotation marks stay."""
        text = re.sub(re.escape(old), lambda _: new, self.text, count=1, flags=re.IGNORECASE)
        return self.replaced(text)

    @property
    def person(self) -> bool:
        """Whether it is a person's name."""
        return self.label == "PERSON"

    @property
    def text(self) -> str:
        """The noun phrase as it stands there."""
        return self.question[self.start : self.end]

    @property
    def pronoun(self) -> str:
        """The English pronoun for it; "" where grammar leaves open whether it is a person or a thing."""
        if not self.kind_known:
            return ""
        if self.person:
            return "that person's" if self.possessive else "that person"
        if self.possessive:
            return "their" if self.plural else "its"
        return "it" if not self.plural else "they" if self.subject else "them"


def noun_phrases(pairs: Sequence[tuple[str, str]], language: str) -> Iterator[NounPhrase | None]:
    """Yield where each name stands as a whole noun phrase of its question; None where it is a part of a longer one.

    `pairs` are (question, name). A name that stands in its question twice gives None, too.
    """
    questions = list(dict.fromkeys(question for question, _ in pairs))
    parsed = dict(zip(questions, parse(questions, "zh" if language == "zh" else "en"), strict=True))
    for question, name in pairs:
        words = parsed[question]
        at = _only_place(question, bare(name))
        if at is None:
            yield None
        else:
            yield _chinese(question, words, *at) if language == "zh" else _english(question, words, *at)


def modified_nouns(questions: Sequence[str]) -> Iterator[list[str]]:
    """Yield the English nouns with words before them that say which ("security review") of each question, in order."""
    for question, words in zip(questions, parse(questions, "en"), strict=True):
        found = []
        for place, word in enumerate(words):
            first = place
            while first and words[first - 1].head == place and words[first - 1].dep in ("compound", "amod", "nmod"):
                first -= 1
            asked = first and words[first - 1].tag in ("WDT", "WP", "WRB", "WP$", "JJ", "CD")
            if word.tag in ("NN", "NNS") and first < place and word.dep != "compound" and not asked:
                found.append(question[words[first].start : word.end])
        yield found


def _only_place(question: str, name: str) -> tuple[int, int] | None:
    """Return where the name stands, None unless it stands there once, between the ends of words."""
    if not name:
        return None
    found = [*re.finditer(re.escape(name), question, re.IGNORECASE)]
    if len(found) != 1:
        return None
    start, end = found[0].span()
    cut = re.match(r"[A-Za-z0-9]{2}", question[start - 1 : start + 1]) if start else None
    return None if cut or re.match(r"[A-Za-z0-9]{2}", question[end - 1 : end + 1]) else (start, end)


def _english(question: str, words: Sequence[Word], start: int, end: int) -> NounPhrase | None:
    """Return the noun phrase of which the name is all, but for its article, its quotation marks and an "'s"."""
    if (defined := _DEFINED.match(question[:start])) and question[end:] == "?":
        verb_ends = len(question[:start].rstrip().removesuffix(" an").removesuffix(" a").removesuffix(" the")) + 1
        label = "PERSON" if defined["verb"] == "Who" else ""
        return NounPhrase(question, verb_ends, end, bool(defined["many"]), label, subject=True)
    tree = Tree(question, words)
    inside = [place for place, word in enumerate(words) if start <= word.start and word.end <= end]
    if not inside or words[inside[0]].start != start or words[inside[-1]].end != end:
        return None
    heads = [place for place in inside if not (start <= words[words[place].head].start < end) or _root(words, place)]
    if len(heads) != 1:
        return None
    head = heads[0]
    around = [place for place in tree.below(head) if place not in inside]
    possessive = any(words[place].tag == "POS" for place in around)
    if any(not _belongs(words[place]) for place in around) or words[head].tag[:2] not in ("NN", "CD", "FW", "JJ"):
        return None
    if _within_a_noun(words, head, possessive=possessive):
        return None
    left, right = _with_quotes(question, start, end)
    determiners = [p for p in around if words[p].dep == "det" and words[p].start < left]
    first = min([inside[0], *determiners])
    left = min(left, words[first].start)
    right = max([right, *(words[p].end for p in around if words[p].tag == "POS" and words[p].start >= end)])
    if _is_unbalanced(question[left:right]):
        return None
    before = words[first - 1].text.lower() if first else ""
    plural = before in _MANY or (before not in _ONE and words[head].tag in ("NNS", "NNPS"))
    plural = plural or any(words[place].dep == "conj" for place in inside)
    labels = {words[place].entity for place in inside}
    label = labels.pop() if len(labels) == 1 else ""
    is_thing = words[head].tag[:3] != "NNP" or first < inside[0] or words[head].text.isupper() or label == "GPE"
    label = "" if is_thing and label == "PERSON" else label
    kind_known = is_thing or (label == "PERSON" and len(inside) > 1)
    return NounPhrase(
        question,
        left,
        right,
        plural,
        label,
        possessive,
        kind_known,
        words[head].dep[:5] == "nsubj",
    )


def _root(words: Sequence[Word], place: int) -> bool:
    return words[place].head == place


def _belongs(word: Word) -> bool:
    """Return whether a word outside the name is no content of its noun phrase."""
    if word.tag == "POS" or word.text in _OPENING + _CLOSING or word.tag in ("``", "''"):
        return True
    return word.dep == "det" and word.text.lower() in _DETERMINERS


def _within_a_noun(words: Sequence[Word], head: int, *, possessive: bool) -> bool:
    """Return whether the phrase is a part of a longer noun: "Design" of "the Design guild", "A" of "A and B"."""
    word = words[head]
    if possessive:
        return False
    owner = words[word.head]
    return word.dep in ("compound", "amod", "nmod", "conj", "appos", "nummod", "npadvmod") and owner.tag[:2] in (
        "NN",
        "CD",
        "JJ",
    )


def _is_unbalanced(text: str) -> bool:
    """Return whether one of a pair of quotation marks or brackets stands in a text without the other."""
    return any(text.count(one) != text.count(other) for one, other in ("“”", "()", "[]", "《》"))


def _with_quotes(question: str, start: int, end: int) -> tuple[int, int]:
    while start and end < len(question) and question[start - 1] in _OPENING and question[end] in _CLOSING:
        start, end = start - 1, end + 1
    return start, end


def _chinese(question: str, words: Sequence[Word], start: int, end: int) -> NounPhrase | None:
    """Return the name with its quotation marks where no noun adjoins it: by jieba's parts of speech."""
    left, right = _with_quotes(question, start, end)
    if not any(word.start == start for word in words) or not any(word.end == end for word in words):
        return None
    before = next((word for word in words if word.end == left), None)
    after = next((word for word in words if word.start == right), None)
    if before and (_CHINESE_BEFORE.match(before.tag) or before.text in _CHINESE_JOINS):
        return None
    if after and (_CHINESE_AFTER.match(after.tag) or after.text in _CHINESE_JOINS):
        return None
    inside = [word for word in words if start <= word.start and word.end <= end]
    label = chinese_label(question[start:end]) if len(inside) == 1 else ""
    return NounPhrase(question, left, right, label=label, possessive=bool(after and after.text == "的"))


def chinese_label(name: str) -> str:
    """Return "GPE" for a place in jieba's dictionary, "PERSON" for what jieba takes for a person, "" for others."""
    words = parse([name], "zh")[0]
    import jieba.posseg  # loaded by now

    if jieba.posseg.dt.word_tag_tab.get(name) == "ns":
        return "GPE"
    return "PERSON" if len(words) == 1 and words[0].tag == "nr" and 2 <= len(name) <= 3 else ""
