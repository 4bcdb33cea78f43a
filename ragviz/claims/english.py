"""Questions from English sentences, by the parse tree.

The sentence is inverted ("The desk lends maps for 21 days." → "For how many days does the desk lend maps?"); only
where that is not possible the question word replaces the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragviz.claims import candidate, english_clauses
from ragviz.claims.candidate import Candidate, Indices
from ragviz.claims.english_clauses import DO, LONG, Clause, Tree
from ragviz.core.document import Word

FUNCTION = candidate.word_set(
    "what who whom when where why how which by within for after before during until since per over under between every"
    " if in on at to from with once while as unless although because the a an your our its their most some many all"
)

_POINTING_ANSWER = candidate.word_set("this these those such it they them here there following above below")

OPENING_PHRASE = re.compile(
    r"^(?:For (?:example|instance)|In (?:addition|general|particular|fact|short|other words)|That said|As such"
    r"|As a result|Of course|At the same time|On the other hand"
    r"|[A-Z][\w&'’/ -]{1,40}?(?:\s[-–—]|:)(?= [A-Z]))[,:]?\s+"
)
SOMEBODY = candidate.word_set("anyone anybody everyone everybody someone somebody nobody")
# Endings of nouns for persons who act; also of things that do ("computer"), so they decide nothing.
_DOER = re.compile(r"(?:[eo]r|ist|ian|ee|eer|ant|ent|ess|man|men|person|people)s?$")

EMPTY = candidate.word_set(
    "be have do make use get go see visit check read need want include information thing way page section"
    " example step more other following detail question document one same such many much able new good sure"
    " help look different type certain various name part lot number kind place"
)

_FIXED_AFTER_IN = candidate.word_set("order case addition general fact terms place")

_NUMBER = re.compile(r"[\d.,]+|[a-z]+(?:-[a-z]+)?")
_ABOUT_AMOUNTS = candidate.word_set("of around about over under above below than like near between")
"""Prepositions that belong to the number, not to the verb: "around 35 minutes", "a maximum of 240 hours"."""

_THIRD = {"are": "is", "have": "has", "do": "does", "were": "was", "am": "is"}
_BAD_ENGLISH = re.compile(
    r"(?:^|\s)[#&/*_~+]+(?=[\s?.,])|\b(?:and|or|as|but|than|while|not only|as well as)\W*\?$|not only|\.\.|…|--|TODO"
    r"|,\s\w+\?$|[\u2190-\u2bff\U0001f000-\U0001faff]"
)


@dataclass(frozen=True, slots=True)
class _Target:
    """What a question asks for: the words it removes, the question words instead, the words of the answer."""

    removed: Indices
    wh: str
    answer: Indices
    bonus: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a parsed sentence: `answer` are the places of its words, `remaining` those of the question's.

    `wh` is the question word, alone or with what it asks after ("how many days"); `kind` says what it replaces.
    """

    question: str
    wh: str
    kind: Literal["subject", "object", "number"]
    clause: Clause
    answer: Indices
    remaining: Indices
    score: float


def may_act(noun: str) -> bool:
    """Return whether a noun ends as those for persons who act do; so do some for things: "computer".

    >>> may_act("porters"), may_act("harbour office")
    (True, False)
    """
    return _DOER.search(noun) is not None


def english(sentence: str, words: Sequence[Word]) -> Iterator[Candidate]:
    """Yield the questions that a parsed English sentence answers."""
    tree = Tree(sentence, words)
    for asked in asked_of(tree):
        start, end = words[asked.answer[0]].start, words[asked.answer[-1]].end
        yield Candidate(asked.question, " ".join(sentence[start:end].split()), asked.score)


def asked_of(tree: Tree) -> Iterator[Asked]:
    """Yield the questions of a tree, with what they were made of."""
    clause = english_clauses.clause(tree) if tree.words else None
    if clause is None:
        return
    whole = [*clause.before, *clause.subject, *clause.between, clause.verb, *clause.rest]
    for target in _subjects(tree, clause):
        yield from _usable(tree, clause, target, "subject", whole, _of_subject(tree, clause, target))
    for target in _objects(tree, clause):
        yield from _usable(tree, clause, target, "object", whole, _inverted(tree, clause, target))
    for target in _numbers(tree, whole):
        yield from _usable(tree, clause, target, "number", whole, _in_place(tree, clause, target, whole))


def _subjects(tree: Tree, clause: Clause) -> Iterator[_Target]:
    """Yield the subject itself: who or what does it."""
    if not clause.subject:
        return
    head = next(place for place in clause.subject if tree.words[place].head == clause.verb)
    opening = tree.words[clause.rest[0]].tag if clause.rest else ""
    if tree.words[clause.verb].lemma == "be" and opening in ("", "WRB", "WP", "TO", "IN", "VBG"):
        return
    if wh := _wh_of_subject(tree, clause, head):
        yield _Target(clause.subject, wh, clause.subject, 0.0)


def _wh_of_subject(tree: Tree, clause: Clause, head: int) -> str:
    """Return the question word for the subject, "" when grammar leaves it open.

    What acts ("The desk lends …") may be a person; so may what "is a …", though the parser can take it for one.
    """
    word, verb = tree.words[head], tree.words[clause.verb]
    wh = _wh(tree, head)
    attribute = tree.child(clause.verb, "attr")
    if wh == "who" and attribute is not None and tree.child(attribute, "det") is not None:
        return ""
    acts = word.dep == "nsubj" and verb.lemma != "be" and word.tag in ("NN", "NNS")
    return "" if wh == "what" and acts else wh


def _objects(tree: Tree, clause: Clause) -> Iterator[_Target]:
    """Yield what follows the verb: its objects and its prepositional phrases."""
    words, inside = tree.words, set(clause.rest)
    heads = [clause.verb]
    if words[clause.verb].lemma != "be":
        heads += [c for c in tree.children[clause.verb] if words[c].dep == "xcomp" and c in inside]
    heads += [c for c in tree.children[clause.verb] if words[c].dep == "acomp" and c in inside]
    for head in heads:
        for child in tree.children[head]:
            places = [place for place in tree.below(child) if place in inside]
            if child not in inside or not english_clauses.unbroken(places):
                continue
            for target in _of_child(tree, child, places):
                if words[child].dep not in ("prep", "agent") or target.bonus >= 2 or words[head].dep != "xcomp":
                    yield target


def _of_child(tree: Tree, child: int, places: Indices) -> Iterator[_Target]:
    """Yield what depends on a verb, by its relation; `places` are the words below it."""
    dep = tree.words[child].dep
    if dep in ("dobj", "npadvmod") and _recurs(tree, places):
        yield _Target(places, "how often", places, 3.0)
    elif dep == "npadvmod":
        yield from _of_measure(tree, child, places)
    elif dep in ("dobj", "attr", "oprd"):
        yield from _of_object(tree, child, places)
        for prep in (c for c in tree.children[child] if tree.words[c].dep == "prep" and c in places):
            phrase = [place for place in tree.below(prep) if place in places]
            yield from (t for t in _of_preposition(tree, prep, phrase) if t.removed == phrase and t.bonus >= 3)
    elif _measure(tree, child) is not None:
        yield from _of_distance(tree, child, places)
    elif dep in ("prep", "agent"):
        yield from _of_preposition(tree, child, places)
    else:
        yield from _of_adverbial(tree, child, places)


def _of_object(tree: Tree, head: int, places: Indices) -> Iterator[_Target]:
    """Ask for an object by "how much", "how many …", "what" or "who"."""
    word = tree.words[head]
    counted = _counted(tree, head)
    purpose = [c for c in tree.children[head] if c > head and tree.words[tree.below(c)[0]].tag == "TO"]
    if purpose:  # "a form to ask for leave": the purpose stays in the question
        places = [place for place in places if place < tree.below(purpose[0])[0]]
    if word.entity == "MONEY":
        money = [place for place in places if place <= head]
        yield _Target(money, "how much", money, 3.0)
    elif counted and len(counted[1]) <= 9:
        kinds = [place for place in counted[1] if place in places]
        yield _Target(places, f"how many {tree.joined(kinds)}", counted[0], 3.0)
    elif not counted and tree.child(head, "nummod") is None and (wh := _wh(tree, head)):
        yield _Target(places, wh, places, 2.0 if word.dep == "attr" else 1.0)


def _of_measure(tree: Tree, noun: int, places: Indices) -> Iterator[_Target]:
    """Ask for "forty nights" after "work" by "how many nights"."""
    counted = _counted(tree, noun)
    if counted and counted[0] == places:
        yield _Target(places, f"how many {tree.joined(counted[1])}", places, 3.0)


def _measure(tree: Tree, head: int) -> int | None:
    """Return the counted noun that measures a preposition, adverb or adjective: "ten minutes before", "8 years old"."""
    noun = tree.child(head, "npadvmod")
    return noun if noun is not None and noun < head and _counted(tree, noun) else None


def _of_distance(tree: Tree, head: int, places: Indices) -> Iterator[_Target]:
    """Ask for "ninety minutes before sunset" by "how many minutes before sunset"."""
    noun = _measure(tree, head)
    counted = _counted(tree, noun) if noun is not None else None
    if noun is None or counted is None or counted[0] != [p for p in places if p <= noun]:
        return
    after = [p for p in places if p > noun]
    if len(after) <= 9:
        yield _Target(places, f"how many {tree.joined(counted[1])} {tree.joined(after)}", counted[0], 3.0)


def _of_preposition(tree: Tree, prep: int, places: Indices) -> Iterator[_Target]:
    """Ask for "within 5 days" by "within how many days", for "in May" by "when", for "by Ann Li" by "by whom"."""
    head = tree.child(prep, "pobj")
    if head is None or head not in places or tree.low(head) in _FIXED_AFTER_IN:
        return
    word, name = tree.words[head], tree.low(prep)
    inner = [place for place in tree.below(head) if place in places]
    counted = _counted(tree, head)
    if counted and name == "from" and any(tree.low(place) == "to" for place in counted[0]):
        return  # "rise from 60 to 72 euros": two amounts
    if counted and len(counted[1]) <= 9 and name not in _ABOUT_AMOUNTS:
        yield _Target(places, f"{name} how many {tree.joined(counted[1])}", counted[0], 3.0)
    elif word.entity in ("DATE", "TIME") and _dated(tree, inner, name):
        yield _Target(places, f"{name} when" if name in ("by", "until", "since") else "when", inner, 3.0)
    elif word.entity in ("GPE", "LOC", "FAC") and name in ("in", "at"):
        yield _Target(places, "where", inner, 2.0)
    elif _wh(tree, head) == "who" and name in ("by", "to", "from", "with", "for"):
        yield _Target(places, f"{name} whom", inner, 2.0)


def _dated(tree: Tree, places: Indices, prep: str) -> bool:
    """Return whether the words are a time: "Friday", "noon", 14:30, "in 1974"; "at 2040" may be anything."""
    if prep not in ("in", "on", "at", "during", "by", "until", "since"):
        return False
    if any(tree.words[place].tag == "CC" for place in places):
        return False
    texts = [tree.words[place].text for place in places if tree.words[place].entity in ("DATE", "TIME")]
    years = prep in ("in", "by", "until", "since") and any(re.fullmatch(r"1\d{3}|20\d{2}", text) for text in texts)
    return years or any(
        re.fullmatch(r"[^\W\d_]{2,}\.?|\d{1,2}:\d{2}", text) and text.lower() != "the" for text in texts
    )


def _recurs(tree: Tree, places: Indices) -> bool:
    """Return whether the words are as "every two weeks" or "each Friday"."""
    dated = any(tree.words[place].entity in ("DATE", "TIME") for place in places)
    return dated and any(tree.low(place) in ("every", "each") for place in places)


def _of_adverbial(tree: Tree, head: int, places: Indices) -> Iterator[_Target]:
    """Ask for an infinitive or "when …" after "is" by "what", for "because …" by "why"."""
    word, mark = tree.words[head], tree.child(head, "mark")
    if word.dep == "xcomp" and tree.words[word.head].lemma == "be" and tree.words[places[0]].tag == "TO":
        yield _Target(places, "what", places, 2.0)
    elif word.dep == "advcl" and tree.low(places[0]) == "when" and tree.words[word.head].lemma == "be":
        yield _Target(places, "what", places, 3.0)
    elif word.dep == "advcl" and mark is not None and tree.low(mark) == "because":
        yield _Target(places, "why", places, 3.0)


def _numbers(tree: Tree, whole: Indices) -> Iterator[_Target]:
    """Yield numbers and sums anywhere in the sentence, asked for in their place."""
    for place in whole:
        counted = _counted(tree, place)
        if counted:
            number = [p for p in counted[0] if p not in counted[1]]
            yield _Target(number, "how many", counted[0], -2.0)
        elif tree.words[place].entity == "MONEY" and tree.words[place].dep in ("pobj", "dobj", "attr"):
            money = [p for p in tree.below(place) if p <= place]
            yield _Target(money, "how much", money, -2.0)


def _counted(tree: Tree, noun: int) -> tuple[Indices, Indices] | None:
    """Return, of "at least 12 weeks of leave", the counted words (to "weeks") and what is counted (from "weeks")."""
    words = tree.words
    number = tree.child(noun, "nummod")
    if number is None or number > noun or words[number].tag != "CD" or words[noun].tag != "NNS":
        return None
    if any(c.isdigit() for c in words[noun].text):  # a name, as "X11R5"
        return None
    if tree.low(number) == "one" or words[noun].entity == "MONEY" or not _NUMBER.fullmatch(tree.low(number)):
        return None
    places = tree.below(noun)
    digits = tree.below(number)
    left = [p for p in places if p < noun and p not in digits]
    if any(words[p].dep not in ("amod", "compound", "nmod", "quantmod", "advmod") for p in left):
        return None
    kinds = [p for p in left if p > number]
    counted = [p for p in places if p <= noun]
    kinds += [p for p in places if p >= noun]
    return (
        (counted, kinds)
        if english_clauses.unbroken(counted) and not any(words[p].text in "([" or words[p].tag == "CD" for p in kinds)
        else None
    )


def _wh(tree: Tree, place: int) -> str:
    """Return "who" for a named person or "the one who …", "what" for other names and nouns, "" where it is open."""
    word = tree.words[place]
    clauses = [child for child in tree.children[place] if tree.words[child].dep == "relcl"]
    whose = any(tree.low(p) in ("who", "whom") for clause in clauses for p in tree.children[clause])
    if whose or tree.low(place) in SOMEBODY or (word.entity == "PERSON" and word.tag[:3] == "NNP"):
        return "who"
    if word.tag[:2] != "NN":
        return ""
    is_open = not word.entity and word.tag[:3] != "NNP" and may_act(tree.low(place))
    return "" if is_open else "what"


def _of_subject(tree: Tree, clause: Clause, target: _Target) -> str:
    """Turn "Supervisors approve leave." into "Who approves leave?": the first verb becomes singular."""
    verbs = [*clause.between, clause.verb]
    finite = next(p for p in verbs if tree.words[p].dep in ("aux", "auxpass") or p == clause.verb)
    many = tree.child(clause.verb, "attr")
    plural = many is not None and tree.words[many].tag in ("NNS", "NNPS")  # "What are the exceptions?"
    pieces: list[str | Indices] = [_singular(tree.words[p]) if p == finite and not plural else [p] for p in verbs]
    return _sentence(tree, clause, target.wh, *pieces, clause.rest)


def _singular(verb: Word) -> str:
    text = LONG.get(verb.text.replace("’", "'"), verb.text).lower()
    if text in _THIRD or verb.tag != "VBP":
        return _THIRD.get(text, text)
    if verb.lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb.lemma + "es"
    return verb.lemma[:-1] + "ies" if re.search("[^aeiou]y$", verb.lemma) else verb.lemma + "s"


def _inverted(tree: Tree, clause: Clause, target: _Target) -> str:
    """Join question word, auxiliary, subject, verb and rest; a command becomes "should you"."""
    words, verb = tree.words, clause.verb
    rest = [place for place in clause.rest if place not in target.removed]
    subject = inside(tree, clause.subject, tree.joined(clause.subject)) if clause.subject else "you"
    helpers = [p for p in clause.between if words[p].dep in ("aux", "auxpass") and words[p].head == verb]
    helpers = [p for p in helpers if words[p].tag != "TO"]
    if not clause.subject:
        middle = [p for p in clause.between if words[p].lemma != "do" and tree.low(p) != "please"]
        pieces: tuple[str | Indices, ...] = ("should", subject, middle, words[verb].text.lower())
    elif words[verb].lemma == "be" and not helpers:
        pieces = (full(words[verb]), subject, clause.between)
    elif helpers:
        pieces = (full(words[helpers[0]]), subject, [p for p in clause.between if p != helpers[0]], [verb])
    elif words[verb].tag in DO:
        pieces = (DO[words[verb].tag], subject, clause.between, words[verb].lemma)
    else:
        return ""
    return _sentence(tree, clause, target.wh, *pieces, rest)


def full(verb: Word) -> str:
    """Return an auxiliary verb, written out."""
    text = verb.text.replace("’", "'").lower()
    return ("has" if verb.lemma == "have" else "is") if text == "'s" else LONG.get(text, text)


def inside(tree: Tree, places: Indices, text: str) -> str:
    """Return `text`, which begins with these words, as inside a sentence: only names keep their capital."""
    word = tree.words[places[0]]
    following = tree.words[places[1]].text if len(places) > 1 else ""
    named = word.tag[:3] == "NNP" or (word.entity and word.tag != "CD")
    named = named or bool(re.search(r".[A-Z0-9]", word.text)) or following[:1].isupper()
    is_function = word.tag in ("DT", "PRP$", "IN", "PRP") or word.text.lower() in FUNCTION
    return lowered(text) if (is_function or (places[0] == 0 and not named)) and word.text != "I" else text


def _in_place(tree: Tree, clause: Clause, target: _Target, whole: Indices) -> str:
    """Replace the answer by the question word; "" when the clause would begin with it."""
    left = [p for p in whole if p < target.removed[0] and p not in clause.before]
    right = [p for p in whole if p > target.removed[-1] and p not in clause.before]
    if not left:
        return ""
    text = tree.joined(left, target.wh, right)
    return _sentence(tree, clause, inside(tree, left, text) if clause.before else text)


def _sentence(tree: Tree, clause: Clause, *pieces: str | Indices) -> str:
    line = tree.joined(*pieces)
    if before := tree.joined(clause.before):
        line = f"{before}, {line}"
    return line[:1].upper() + line[1:].rstrip(" .,;:!") + "?"


def lowered(text: str) -> str:
    """Return the text with its first letter in lower case."""
    return text[:1].lower() + text[1:]


def _usable(
    tree: Tree,
    clause: Clause,
    target: _Target,
    kind: Literal["subject", "object", "number"],
    whole: Indices,
    question: str,
) -> Iterator[Asked]:
    """Yield the question with its score, unless it or its answer is not understood alone."""
    words, answer = tree.words, target.answer
    remaining = [p for p in whole if p not in target.removed]
    owner = any(words[p].dep[:5] == "nsubj" and words[p].tag[:2] == "NN" for p in remaining)
    if not question or not answer or len(answer) > 18 or _BAD_ENGLISH.search(question):
        return
    if any(question.count(left) != question.count(right) for left, right in (("(", ")"), ("[", "]"), ("“", "”"))):
        return
    if question.count('"') % 2 or "''" in question:  # half of a pair of quotation marks
        return
    if not _can_answer(tree, answer) or any(english_clauses.points(tree, p, owner=owner) for p in remaining):
        return
    bare = [tree.words[p].head for p in remaining if is_bare(tree, p)]
    if any(words[head].dep[:5] == "nsubj" for head in bare):  # "the course": which one is known from elsewhere
        return
    if any(words[p].dep == "prep" and not tree.children[p] for p in remaining):
        return
    content = [
        p for p in remaining if words[p].tag[:2] in ("NN", "VB", "JJ", "CD") and words[p].lemma.lower() not in EMPTY
    ]
    counted = len(target.wh.partition("how many ")[2].split())  # what is counted is in the question, too
    if len(content) + counted < (2 if target.bonus >= 2 else 3) or not (
        counted or any(words[p].tag[:2] in ("NN", "CD") for p in content)
    ):
        return
    score = min(len(content), 8) + target.bonus + any(words[p].entity for p in answer)
    score += any(words[p].tag[:3] == "NNP" for p in content)
    score -= len(bare) + max(0, len(answer) - 8) * 0.5 + max(0, len(remaining) - 22) * 0.3
    yield Asked(question, target.wh, kind, clause, answer, remaining, score)


def _can_answer(tree: Tree, answer: Indices) -> bool:
    """Return whether the words are understood alone as an answer."""
    words = tree.words
    around = tree.sentence[words[answer[0]].start - 1 : words[answer[0]].start] if answer[0] else ""
    around += tree.sentence[words[answer[-1]].end : words[answer[-1]].end + 1]
    if re.search(r"[\w/–-]", around):  # half of "e-ticket"
        return False
    if (
        is_bare(tree, answer[0])
        or words[answer[0]].tag in ("PRP", "PRP$", "WP", "WDT")
        or tree.low(answer[0])
        in (
            "neither",
            "either",
            "both",
            "all",
            "any",
        )
    ):
        return False
    if words[answer[-1]].tag in ("CC", "IN", "DT", "TO", "RP", ",", ":"):
        return False
    if any(tree.low(p) in _POINTING_ANSWER or english_clauses.points_that(tree, p) for p in answer):
        return False
    return any(words[p].tag[:2] in ("NN", "CD", "VB") and words[p].lemma.lower() not in EMPTY for p in answer)


def is_bare(tree: Tree, place: int) -> bool:
    """Return whether the word is the article of a noun that nothing specifies, as of "the course"."""
    if tree.low(place) != "the":
        return False
    head = tree.words[place].head
    return tree.words[head].tag in ("NN", "NNS") and not tree.words[head].entity and not tree.specifiers(head)
