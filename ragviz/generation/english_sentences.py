"""Questions of English sentences with a number, a date or a name that are understood alone.

A sentence is asked about where its main clause is plain: a subject, a verb, and what is asked for right below the verb.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from ragviz.core.document import Word
from ragviz.core.question import QuestionType
from ragviz.generation.phrasing import Asked, Phrasing, words_in
from ragviz.text import words
from ragviz.text.words import content_words

_ODD = re.compile(r"[?!:;()\[\]{}<>\"“”=|`*#→]| [–—-] |https?:|\.\.\.|…|\w_\w")
_OPENS = words_in(
    "however also then thus therefore instead additionally finally next first second third otherwise but and or"
    " so yet moreover furthermore meanwhile still hence besides similarly likewise conversely alternatively again"
    " now note here there please let usually typically fortunately unfortunately currently recently today"
)
_UNSAID = words_in(
    "it he she they him them this that these those such here above below following former latter previous another"
    " other same his her hers theirs i me my mine"
)
_TIME = words_in("second minute hour day week month year decade")
_MONEY = words_in("dollar euro pound cent yuan franc yen usd eur gbp")
_MEASURES = frozenset(
    ["long", "high", "deep", "tall", "wide", "heavy", "old", "thick", "large", "big", "far", "fast", "away"]
)
_MONTH = re.compile(r"\b(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec)[a-z]*\b|\b(?:1[5-9]|20)\d\d\b")
_BY_PEOPLE = words_in(
    "lead head chair direct manage run own write design build invent discover found create teach join win develop"
    " propose introduce paint compose translate edit publish organize organise start open"
)
_NAMED = words_in("PERSON ORG GPE NORP FAC PRODUCT WORK_OF_ART LOC EVENT")


class _Clause:
    def __init__(self, parsed: Sequence[Word], lowered: Callable[[str], str]) -> None:
        self.lowered = lowered
        self.words = parsed
        self.root = next((n for n, word in enumerate(parsed) if word.dep == "ROOT"), 0)
        self.below = {n: [c for c, word in enumerate(parsed) if word.head == n and c != n] for n in range(len(parsed))}
        subjects = [n for n in self.below[self.root] if parsed[n].dep in ("nsubj", "nsubjpass")]
        self.subject = subjects[0] if len(subjects) == 1 else -1

    def subtree(self, at: int) -> list[int]:
        """Return a word and all that depends on it, in order."""
        found, left = set(), [at]
        while left:
            found.add(left[-1])
            left.extend(c for c in self.below[left.pop()] if c not in found)
        return sorted(found)

    def text(self, places: Collection[int]) -> str:
        """Return words with the blanks between them as in the sentence."""
        said = ""
        for n in sorted(places):
            word = self.words[n]
            touches = n > 0 and self.words[n - 1].end == word.start and n - 1 in places
            said += word.text if touches or not said else f" {word.text}"
        return said

    def children(self, at: int, *deps: str) -> list[int]:
        """Return the words that depend on one by such a relation."""
        return [n for n in self.below[at] if self.words[n].dep in deps]


def asked(sentence: str, lowered: Callable[[str], str] = str.lower) -> list[Asked]:
    """Return questions of a sentence, at most one of each type; none of one that is not understood alone.

    `lowered` returns a word as it is written inside a sentence.

    >>> [(each.phrasings[0].text, each.answer) for each in asked("Full-time staff get 25 days of leave a year.")]
    [('How many days of leave a year do full-time staff get?', '25')]
    """
    text = " ".join(sentence.split())
    if not text.endswith(".") or _ODD.search(text) or not 30 <= len(text) <= 220 or not text[0].isupper():
        return []
    [parsed] = words.parse([text], "en")
    clause = _Clause(parsed, lowered)
    if not _stands_alone(clause):
        return []
    found = list[Asked]()
    for each in (*_of_numbers(clause), *_of_dates(clause), *_of_names(clause), *_of_definition(clause)):
        text = each.phrasings[0].text
        is_anybody = parsed[clause.subject].tag == "PRP"
        least = 3 + is_anybody * (1 + each.phrasings[0].template.startswith("Within"))
        long_enough = len(content_words(text, "en")) >= least or each.type == "definition"
        if long_enough and "," not in text and all(other.type != each.type for other in found):
            found.append(each)
    return found


def _stands_alone(clause: _Clause) -> bool:
    parsed, root = clause.words, clause.root
    said = {word.text.lower() for word in parsed}
    finite = parsed[root].tag in ("VBZ", "VBP", "VBD") or any(
        parsed[n].tag in ("MD", "VBZ", "VBP", "VBD") for n in clause.children(root, "aux", "auxpass")
    )
    if not finite or clause.subject < 0 or clause.subject > root or parsed[root].tag == "VBG":
        return False
    if parsed[0].text.lower() in _OPENS or said & _UNSAID or clause.children(root, "neg", "expl", "csubj"):
        return False
    subject = clause.subtree(clause.subject)
    if subject[-1] > root or (
        parsed[clause.subject].tag == "PRP" and parsed[clause.subject].text.lower() not in ("you", "we")
    ):
        return False
    if parsed[clause.subject].tag in ("DT", "WDT", "WP", "CD", "EX", "VBG", "JJ") or any(
        parsed[n].tag == "WDT" for n in subject
    ):
        return False
    lead = parsed[: subject[0]]
    if lead and lead[0].tag not in ("IN", "WRB", "TO"):
        return False
    is_vague = parsed[subject[0]].text.lower() in ("the", "some", "many", "most", "both", "each", "our", "all") and (
        len(content_words(clause.text(subject), "en")) < 2
    )
    named = any(word.entity in _NAMED for word in parsed)
    return not is_vague or (named and parsed[subject[0]].text.lower() in ("the", "our", "all"))


def _question(clause: _Clause, asking: str, without: Collection[int], *, stranded: str = "") -> str:
    """Return the clause as a question that begins with `asking`, without the words that it asks for."""
    parsed, root = clause.words, clause.root
    subject = clause.subtree(clause.subject)
    helpers = [n for n in clause.children(root, "aux", "auxpass") if n < root and parsed[n].tag != "TO"]
    second = _second_verb(clause, without)
    whole = set(clause.subtree(root))
    lead = [n for n in range(subject[0]) if n in whole]
    rest = whole - set(subject) - set(helpers[:1]) - set(lead) - {root} - set(without) - second
    rest = {n for n in rest if not (parsed[n].tag == "." and n == len(parsed) - 1)}
    is_you = parsed[clause.subject].text.lower() == "you"
    if helpers:
        helper, verb = parsed[helpers[0]].text, parsed[root].text
    elif parsed[root].lemma == "be":
        helper, verb = parsed[root].text, ""
    else:
        helper = {"VBZ": "does", "VBD": "did"}.get(parsed[root].tag, "do")
        verb = parsed[root].lemma
    helper = {"are": "am", "were": "was"}.get(helper.lower(), helper) if is_you else helper
    between = {n for n in rest if n < root}
    parts = [
        asking,
        helper,
        _small(clause, subject),
        clause.text(between),
        verb,
        clause.text(rest - between),
        stranded,
    ]
    parts += [_small(clause, lead).rstrip(" ,")]
    return _to_asker(" ".join(filter(None, parts))).replace(" ,", ",").rstrip(" ,.") + "?"


def _second_verb(clause: _Clause, without: Collection[int]) -> set[int]:
    """Return what stands from a second verb of the subject on, with its "and", where that follows what is asked for."""
    root = clause.root
    after = [n for n in clause.children(root, "conj") if n > root]
    if not after:
        return set()
    joined = set(clause.subtree(after[0])) | {n for n in clause.children(root, "cc", "punct") if root < n < after[0]}
    return joined if not joined & set(without) else set()


def _small(clause: _Clause, places: Sequence[int]) -> str:
    text = clause.text(places)
    if not places or places[0] != 0:
        return text
    first = clause.words[0]
    keeps = first.tag in ("NNP", "NNPS") or first.entity in _NAMED or not re.fullmatch(r"[A-Z][a-z'’-]*", first.text)
    return text if keeps else clause.lowered(first.text) + text[len(first.text) :]


def _to_asker(text: str) -> str:
    for pattern, other in (
        (r"\byour\b", "my"),
        (r"\byourself\b", "myself"),
        (r"\b(?<!for )(?<!to )you\b", "I"),
        (r"\byou\b", "me"),
    ):
        text = re.sub(pattern, other, text)
    return text


def _of_numbers(clause: _Clause) -> Iterator[Asked]:
    """Ask for numbers that stand right below the verb: "25 days", "40 meters high", "within 3 days", "8 euros"."""
    parsed, root = clause.words, clause.root
    for number, word in enumerate(parsed):
        noun = word.head
        if word.tag != "CD" or word.dep != "nummod" or word.text.lower() == "one" or noun <= number:
            continue
        whole, head = clause.subtree(noun), parsed[noun].head
        if any(parsed[n].tag in ("WDT", "WP", "VBD", "VBZ") or parsed[n].dep == "conj" for n in whole):
            continue
        before = [n for n in whole if n <= number or (n < noun and parsed[n].dep in ("nummod", "quantmod"))]
        things = clause.text([n for n in whole if n not in before and parsed[n].text != "$"])
        said = [n for n in whole if n <= noun]
        if head == root and parsed[noun].dep == "dobj":
            yield from _of_object(clause, noun, things, whole, before)
        elif head == root and parsed[noun].dep == "attr" and parsed[root].tag in ("VBZ", "VBD"):
            yield _asked(clause.text(said), "What is", _question(clause, "What", whole))
        elif parsed[noun].dep == "npadvmod" and parsed[head].text in _MEASURES and parsed[head].head == root:
            text = _question(clause, f"How {parsed[head].text}", [*whole, head])
            yield _asked(clause.text(said), "How high", text)
        elif parsed[noun].dep == "pobj" and parsed[head].dep == "prep" and parsed[head].head == root < head:
            yield from _after_preposition(clause, noun, things, clause.text(said))


_MOMENT = re.compile(r"\b(?:before|after|from|until)\b")
"""What is no amount of something but a moment: "14 days before the course"."""


def _of_object(clause: _Clause, noun: int, things: str, whole: Sequence[int], before: Sequence[int]) -> Iterator[Asked]:
    word, verb = clause.words[noun], clause.words[clause.root].lemma
    lemma, said = word.lemma.lower(), [n for n in whole if n <= noun]
    is_money = lemma in _MONEY
    if is_money and verb in ("cost", "pay", "charge", "earn", "receive", "get"):
        yield _asked(clause.text(said), "How much", _question(clause, "How much", said))
    elif lemma in _TIME and verb in ("take", "last") and clause.words[clause.subject].tag != "PRP":
        yield _asked(clause.text(said), "How long", _question(clause, "How long", whole))
    elif word.tag in ("NNS", "NNPS") and not is_money and things.count(" ") < 9:
        text = _question(clause, f"How many {things}", whole)
        if not (lemma in _TIME and _MOMENT.search(text)):
            yield _asked(clause.text(before), "How many", text)


def _after_preposition(clause: _Clause, noun: int, things: str, answer: str) -> Iterator[Asked]:
    preposition = clause.words[noun].head
    group, word = clause.subtree(preposition), clause.words[preposition].text.lower()
    lemma = clause.words[noun].lemma.lower()
    if group[0] != preposition or len(group) > 8:
        return
    if word == "for" and lemma in _TIME:
        yield _asked(clause.text(group), "How long", _question(clause, "How long", group))
    elif word in _COUNTED_AFTER and lemma in _TIME and clause.words[noun].tag == "NNS":
        text = _question(clause, f"{word.capitalize()} how many {things}", group)
        yield _asked(answer, "Within how many", text)


_COUNTED_AFTER = ("within", "after")


def _asked(answer: str, template: str, text: str, kind: QuestionType = "number") -> Asked:
    return Asked(kind, answer, (Phrasing(template, text),))


def _of_dates(clause: _Clause) -> Iterator[Asked]:
    parsed, root = clause.words, clause.root
    for preposition in clause.children(root, "prep"):
        group = clause.subtree(preposition)
        text, word = clause.text(group), parsed[preposition].text.lower()
        dated = _MONTH.search(text) and any(parsed[n].entity == "DATE" for n in group)
        is_several = any(parsed[n].dep == "conj" for n in group)
        if (
            not dated
            or is_several
            or preposition < root
            or len(group) > 6
            or word not in ("in", "on", "since", "until", "by")
        ):
            continue
        asking = {"since": "Since when", "until": "Until when", "by": "By when"}.get(word, "When")
        answer = clause.text([n for n in group if n != preposition])
        yield _asked(answer, asking, _question(clause, asking, group))


def _of_names(clause: _Clause) -> Iterator[Asked]:
    parsed, root = clause.words, clause.root
    for agent in clause.children(root, "agent"):
        group = clause.subtree(agent)
        if parsed[group[-1]].entity in ("PERSON", "ORG") and 1 < len(group) <= 6 and parsed[group[1]].entity:
            answer = clause.text([n for n in group if n != agent])
            yield _asked(answer, "Who … by", _question(clause, "Who", group, stranded="by"), "fact")
    subject = clause.subtree(clause.subject)
    is_person = all(parsed[n].entity == "PERSON" for n in subject) and len(subject) > 1
    if is_person and parsed[clause.subject].dep == "nsubj" and parsed[root].lemma in _BY_PEOPLE and subject[0] == 0:
        rest = [
            n
            for n in clause.subtree(root)
            if n > subject[-1] and parsed[n].text != "." and n not in _second_verb(clause, subject)
        ]
        yield _asked(clause.text(subject), "Who", f"Who {clause.text(rest)}?", "fact")


def _of_definition(clause: _Clause) -> Iterator[Asked]:
    """Ask what something is that a sentence says so of: "A crossing is a trip …"."""
    parsed, root = clause.words, clause.root
    subject, attributes = clause.subtree(clause.subject), clause.children(root, "attr")
    if parsed[root].text != "is" or not attributes or subject[0] != 0 or len(subject) > 6:
        return
    said = clause.subtree(attributes[0])
    opens = parsed[subject[0]]
    is_name = opens.tag in ("NNP", "NN") or opens.text in ("A", "An")
    if (
        is_name
        and parsed[said[0]].text in ("a", "an", "the")
        and len(said) > 3
        and parsed[clause.subject].tag.startswith("NN")
    ):
        text = clause.text([n for n in clause.subtree(root) if n > root and parsed[n].text != "."])
        yield Asked("definition", text, (Phrasing("What is", f"What is {_small(clause, subject)}?"),))
