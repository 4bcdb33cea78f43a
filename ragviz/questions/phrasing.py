"""Questions out of single sentences, without a model: English by the parse tree, Chinese by parts of speech.

English turns the sentence round ("The desk lends maps for 21 days." → "For how many days does the desk lend maps?") and
only where that cannot be done puts the question word where the answer stands. Chinese always does the latter, which
is how Chinese asks. What would ask badly (no noun left to search for, "it", "this", a broken parse) gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragviz.records import Word

Indices = list[int]
"""Places of words in their sentence, rising."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that a sentence answers; `answer` is its characters, white space evened. More `score` is better."""

    question: str
    answer: str
    score: float


def questions(sentence: str, words: Sequence[Word], language: str) -> list[Asked]:
    """Every question that can be made of `sentence`, the best first; none is common.

    `words` is its parse (`language.parse`); "zh" is asked in Chinese, everything else in English.
    """
    asked = _chinese(sentence, words) if language == "zh" else _english(sentence, words)
    return sorted(asked, key=lambda question: -question.score)


def core(sentence: str, language: str) -> str:
    """`sentence` without what only links it to others or labels it: "For example, ", "Note: ", "【甲】", "因此，".

    >>> core("In addition, the desk lends maps.", "en"), core("【甲】表名不使用复数名词。", "zh")
    ('The desk lends maps.', '表名不使用复数名词。')
    """
    rest = (_ZH_OPENING if language == "zh" else _OPENING_PHRASE).sub("", sentence, count=1)
    return rest if language == "zh" else rest[:1].upper() + rest[1:]


def joined(parts: Sequence[Asked], language: str) -> Asked:
    """One question that asks for all that `parts` ask for; its answer is theirs in the same order.

    >>> joined([Asked("Who pays?", "Ann", 1), Asked("How much is it?", "$5", 1)], "en").question
    'Who pays, and how much is it?'
    """
    stems = [part.question.rstrip("?？") for part in parts]
    score = min(part.score for part in parts)
    if language == "zh":
        return Asked("；".join(stems) + "？", "；".join(part.answer for part in parts), score)
    first, *others = stems
    others = [_lowered(stem) if stem.split()[0].rstrip(",").lower() in _FUNCTION else stem for stem in others]
    comma = "; " if any("," in stem for stem in stems) else ", "
    together = comma.join([first, *others[:-1], *(f"and {stem}" for stem in others[-1:])])
    return Asked(together + "?", "; ".join(part.answer for part in parts), score)


# English


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FUNCTION = _set(
    "what who whom when where why how which by within for after before during until since per over under between every"
    " if in on at to from with once while as unless although because the a an your our its their most some many all"
)
_POINTING = _set(
    "it its they them their he she him her his this these those here there ones same former latter above below"
    " following i me my"
)
_POINTING_ANSWER = _set("this these those such it they them here there following above below")
_OPENERS = _set(
    "however also additionally therefore finally then so first second third next lastly further furthermore moreover"
    " instead otherwise thus hence similarly generally lately please note and but or yet , :"
)
_OPENING_PHRASE = re.compile(
    r"^(?:For (?:example|instance)|In (?:addition|general|particular|fact|short|other words)|That said|As such"
    r"|As a result|Of course|At the same time|On the other hand"
    r"|[A-Z][\w&'’/ -]{1,40}?(?:\s[-–—]|:)(?= [A-Z]))[,:]?\s+"
)
_SOMEBODY = _set("anyone anybody everyone everybody someone somebody nobody")
# What English makes of a verb or a noun for whoever does it; also for what does it ("computer"), so it tells nothing.
_DOER = re.compile(r"(?:[eo]r|ist|ian|ee|eer|ant|ent|ess|man|men|person|people)s?")
_LINKING = _set("then also therefore however thus instead otherwise meanwhile furthermore moreover later still")
_EMPTY = _set(
    "be have do make use get go see visit check read need want include information thing way page section"
    " example step more other following detail question document one same such many much able new good sure"
    " help look different type certain various name part lot number kind place"
)
_POINTERS = _set("see visit refer check note remember follow read learn view look")
_FIXED_AFTER_IN = _set("order case addition general fact terms place")
_DO = {"VBZ": "does", "VBP": "do", "VBD": "did"}
_LONG = {"ca": "can", "wo": "will", "sha": "shall", "'re": "are", "'ve": "have", "'ll": "will", "n't": "not"}
_LONG |= {"'m": "am", "'d": "would"}
_THIRD = {"are": "is", "have": "has", "do": "does", "were": "was", "am": "is"}
_BAD_ENGLISH = re.compile(
    r"(?:^|\s)[#&/*_~+]+(?=[\s?.,])|\b(?:and|or|as|but|than|while|not only|as well as)\W*\?$|not only|\.\.|…|--|TODO"
    r"|,\s\w+\?$|[\u2190-\u2bff\U0001f000-\U0001faff]"
)


class _Tree:
    """A parsed sentence with its children and what they hang on."""

    def __init__(self, sentence: str, words: Sequence[Word]) -> None:
        self.sentence, self.words = sentence, words
        self.children: list[Indices] = [[] for _ in words]
        for place, word in enumerate(words):
            if word.head != place:
                self.children[word.head].append(place)
        self.root = next((place for place, word in enumerate(words) if word.head == place), 0)

    def below(self, top: int) -> Indices:
        """The word and all that hangs on it."""
        return sorted([top, *(place for child in self.children[top] for place in self.below(child))])

    def child(self, top: int, *deps: str) -> int | None:
        """First child of `top` that hangs on it by one of `deps`."""
        return next((child for child in self.children[top] if self.words[child].dep in deps), None)

    def low(self, place: int) -> str:
        """The word in lower case."""
        return self.words[place].text.lower()

    def said(self, *pieces: str | Indices) -> str:
        """Words and strings in a row, spaced and punctuated as English is."""
        parts = []
        for piece in pieces:
            if isinstance(piece, str):
                parts.append(piece)
                continue
            for turn, place in enumerate(piece):
                word = self.words[place]
                if word.dep == "advmod" and self.low(place) in _LINKING:
                    continue
                text = _LONG.get(word.text.replace("’", "'"), word.text)
                glued = turn and piece[turn - 1] == place - 1 and self.words[place - 1].end == word.start
                parts.append(f"\b{text}" if glued and text == word.text else text)
        line = re.sub(r"\s+", " ", " ".join(filter(None, parts)).replace(" \b", "").replace("\b", ""))
        line = re.sub(r"\s+([,.;:!?)\]%])(?=[\s,.;:!?)\]]|$)", r"\1", line)
        line = re.sub(r"\(\s*\)", "", re.sub(r"([(\[])\s+", r"\1", line))
        line = re.sub(r"(,\s*)+(?=[,?.])", "", re.sub(r"\bcan not\b", "cannot", line))
        return line.strip(" ,;:-–—")


@dataclass(frozen=True, slots=True)
class _Clause:
    """The main clause: what stands before it, its subject (empty: a command), helping words, verb and rest."""

    before: Indices
    subject: Indices
    between: Indices
    verb: int
    rest: Indices


@dataclass(frozen=True, slots=True)
class _Target:
    """What is asked for: the words that go, the question words for them, the words of the answer."""

    gone: Indices
    wh: str
    answer: Indices
    bonus: float


def _english(sentence: str, words: Sequence[Word]) -> Iterator[Asked]:
    tree = _Tree(sentence, words)
    clause = _clause(tree) if words else None
    if clause is None:
        return
    whole = [*clause.before, *clause.subject, *clause.between, clause.verb, *clause.rest]
    for target in _subjects(tree, clause):
        yield from _checked(tree, target, whole, _of_subject(tree, clause, target))
    for target in _objects(tree, clause):
        yield from _checked(tree, target, whole, _turned(tree, clause, target))
    for target in _numbers(tree, whole):
        yield from _checked(tree, target, whole, _in_place(tree, clause, target, whole))


def _clause(tree: _Tree) -> _Clause | None:
    words, verb = tree.words, tree.root
    subject_head = tree.child(verb, "nsubj", "nsubjpass")
    helpers = [c for c in tree.children[verb] if words[c].dep in ("aux", "auxpass", "neg") and c < verb]
    if tree.child(verb, "csubj", "csubjpass", "expl") is not None or words[verb].tag[:2] != "VB":
        return None
    if subject_head is None:
        if (
            words[verb].tag not in ("VB", "VBP")
            or words[verb].lemma.lower() in _POINTERS
            or any(words[c].lemma not in ("do", "not") for c in helpers)
        ):
            return None
        subject, first = [], min([verb, *helpers])
    else:
        subject = tree.below(subject_head)
        first = subject[0]
        if not _unbroken(subject) or subject[-1] >= verb:
            return None
        if not any(words[c].dep != "neg" and words[c].tag != "TO" for c in helpers) and words[verb].tag not in _DO:
            return None
    before = _before(tree, first)
    if before is None:
        return None
    between = list(range(subject[-1] + 1 if subject else first, verb))
    return _Clause(before, subject, between, verb, list(range(verb + 1, _clause_end(tree, verb))))


def _unbroken(places: Indices) -> bool:
    return places == list(range(places[0], places[-1] + 1))


def _before(tree: _Tree, first: int) -> Indices | None:
    """What leads up to the clause, without "However," and the like; None when it is not a phrase or a clause."""
    start = 0
    while start < first and tree.low(start) in _OPENERS:
        start += 1
    places = list(range(start, first))
    if not places:
        return []
    while places and tree.low(places[-1]) in ("please", "then", ","):
        places.pop()
    opening = tree.words[start]
    fits = opening.dep in ("prep", "mark", "advmod", "npadvmod", "aux") or opening.tag in (
        "IN",
        "WRB",
        "TO",
        "VBG",
        "VBN",
    )
    if not fits or tree.low(start) in ("of", "that", "than"):
        return None
    if any(tree.words[p].head == tree.root and tree.words[p].dep in ("ccomp", "conj") for p in places):
        return None
    # What points elsewhere is left away, unless it is a condition.
    return places if opening.dep == "mark" or not any(_points(tree, place) for place in places) else []


def _clause_end(tree: _Tree, verb: int) -> int:
    """Where the clause ends: at the full stop, a dash, a colon; at another clause, or one that points elsewhere."""
    words = tree.words
    end = len(words)
    for child in (c for c in tree.children[verb] if c > verb):
        places = tree.below(child)
        leads_off = words[child].dep == "advcl" and any(_points(tree, place) for place in places)
        if words[child].dep in ("conj", "parataxis") or leads_off:
            end = min(end, places[0])
    marks = [p for p in range(verb + 1, end) if words[p].text in (";", ":", "—", "–", "--", "-")]
    marks = [p for p in marks if words[p].text not in "-–" or words[p - 1].end < words[p].start]
    end = min([end, *marks])
    while end > verb + 1 and words[end - 1].dep in ("cc", "punct", "preconj") and words[end - 1].text not in ")]%":
        end -= 1
    return end


def _subjects(tree: _Tree, clause: _Clause) -> Iterator[_Target]:
    """The subject itself: who or what does it."""
    if not clause.subject:
        return
    head = next(place for place in clause.subject if tree.words[place].head == clause.verb)
    opening = tree.words[clause.rest[0]].tag if clause.rest else ""
    if tree.words[clause.verb].lemma == "be" and opening in ("", "WRB", "WP", "TO", "IN", "VBG"):
        return
    if wh := _wh_of_subject(tree, clause, head):
        yield _Target(clause.subject, wh, clause.subject, 0.0)


def _wh_of_subject(tree: _Tree, clause: _Clause, head: int) -> str:
    """The question word for the subject, "" when grammar does not tell it.

    Whatever acts ("The desk lends …") may be a person; so may whoever "is a …" though it is called one by mistake.
    """
    word, verb = tree.words[head], tree.words[clause.verb]
    wh = _wh(tree, head)
    attribute = tree.child(clause.verb, "attr")
    if wh == "who" and attribute is not None and tree.child(attribute, "det") is not None:
        return ""
    acts = word.dep == "nsubj" and verb.lemma != "be" and word.tag in ("NN", "NNS")
    return "" if wh == "what" and acts else wh


def _objects(tree: _Tree, clause: _Clause) -> Iterator[_Target]:
    """What follows the verb: its objects, and what hangs on it by a preposition."""
    words, inside = tree.words, set(clause.rest)
    heads = [clause.verb]
    if words[clause.verb].lemma != "be":
        heads += [c for c in tree.children[clause.verb] if words[c].dep == "xcomp" and c in inside]
    heads += [c for c in tree.children[clause.verb] if words[c].dep == "acomp" and c in inside]
    for head in heads:
        for child in tree.children[head]:
            places = [place for place in tree.below(child) if place in inside]
            if child not in inside or not _unbroken(places):
                continue
            if words[child].dep in ("dobj", "npadvmod") and _recurs(tree, places):
                yield _Target(places, "how often", places, 3.0)
            elif words[child].dep in ("dobj", "attr", "oprd"):
                yield from _of_object(tree, child, places)
                for prep in (c for c in tree.children[child] if words[c].dep == "prep" and c in inside):
                    phrase = [place for place in tree.below(prep) if place in inside]
                    yield from (t for t in _of_preposition(tree, prep, phrase) if t.gone == phrase and t.bonus >= 3)
            elif words[child].dep in ("prep", "agent"):
                found = _of_preposition(tree, child, places)
                yield from (target for target in found if target.bonus >= 2 or words[head].dep != "xcomp")
            else:
                yield from _of_adverbial(tree, child, places)


def _of_object(tree: _Tree, head: int, places: Indices) -> Iterator[_Target]:
    word = tree.words[head]
    counted = _counted(tree, head)
    purpose = [c for c in tree.children[head] if c > head and tree.words[tree.below(c)[0]].tag == "TO"]
    if purpose:  # "a form to ask for leave": the purpose stays in the question
        places = [place for place in places if place < tree.below(purpose[0])[0]]
    if word.entity == "MONEY":
        money = [place for place in places if place <= head]
        yield _Target(money, "how much", money, 3.0)
    elif counted and len(counted[1]) <= 9:
        yield _Target(places, f"how many {tree.said(counted[1])}", counted[0], 3.0)
    elif not counted and tree.child(head, "nummod") is None and (wh := _wh(tree, head)):
        yield _Target(places, wh, places, 2.0 if word.dep == "attr" else 1.0)


def _of_preposition(tree: _Tree, prep: int, places: Indices) -> Iterator[_Target]:
    """Ask for "within 5 days" by "within how many days", for "in May" by "when", for "by Ann Li" by "by whom"."""
    head = tree.child(prep, "pobj")
    if head is None or head not in places or tree.low(head) in _FIXED_AFTER_IN:
        return
    word, name = tree.words[head], tree.low(prep)
    inner = [place for place in tree.below(head) if place in places]
    counted = _counted(tree, head)
    if counted and len(counted[1]) <= 9:
        yield _Target(places, f"{name} how many {tree.said(counted[1])}", counted[0], 3.0)
    elif word.entity in ("DATE", "TIME") and _dated(tree, inner, name):
        yield _Target(places, f"{name} when" if name in ("by", "until", "since") else "when", inner, 3.0)
    elif word.entity in ("GPE", "LOC", "FAC") and name in ("in", "at"):
        yield _Target(places, "where", inner, 2.0)
    elif _wh(tree, head) == "who" and name in ("by", "to", "from", "with", "for"):
        yield _Target(places, f"{name} whom", inner, 2.0)


def _dated(tree: _Tree, places: Indices, prep: str) -> bool:
    """Whether it reads as a time: with a word ("Friday", "noon"), as 14:30, or "in 1974"; "at 2040" may be anything."""
    if prep not in ("in", "on", "at", "during", "by", "until", "since"):
        return False
    texts = [tree.words[place].text for place in places]
    years = prep in ("in", "by", "until", "since") and any(re.fullmatch(r"1\d{3}|20\d{2}", text) for text in texts)
    return years or any(
        re.fullmatch(r"[^\W\d_]{2,}\.?|\d{1,2}:\d{2}", text) and text.lower() != "the" for text in texts
    )


def _recurs(tree: _Tree, places: Indices) -> bool:
    """True for "every two weeks" and "each Friday"."""
    dated = any(tree.words[place].entity in ("DATE", "TIME") for place in places)
    return dated and any(tree.low(place) in ("every", "each") for place in places)


def _of_adverbial(tree: _Tree, head: int, places: Indices) -> Iterator[_Target]:
    word, mark = tree.words[head], tree.child(head, "mark")
    if word.dep == "xcomp" and tree.words[word.head].lemma == "be" and tree.words[places[0]].tag == "TO":
        yield _Target(places, "what", places, 2.0)
    elif word.dep == "advcl" and tree.low(places[0]) == "when" and tree.words[word.head].lemma == "be":
        yield _Target(places, "what", places, 3.0)
    elif word.dep == "advcl" and mark is not None and tree.low(mark) == "because":
        yield _Target(places, "why", places, 3.0)


def _numbers(tree: _Tree, whole: Indices) -> Iterator[_Target]:
    """Numbers and sums anywhere in the sentence, asked for where they stand."""
    for place in whole:
        counted = _counted(tree, place)
        if counted:
            number = [p for p in counted[0] if p not in counted[1]]
            yield _Target(number, "how many", counted[0], -2.0)
        elif tree.words[place].entity == "MONEY" and tree.words[place].dep in ("pobj", "dobj", "attr"):
            money = [p for p in tree.below(place) if p <= place]
            yield _Target(money, "how much", money, -2.0)


def _counted(tree: _Tree, noun: int) -> tuple[Indices, Indices] | None:
    """Of "at least 12 weeks of leave": the counted words (to "weeks") and what is counted (from "weeks" on)."""
    words = tree.words
    number = tree.child(noun, "nummod")
    if number is None or number > noun or words[number].tag != "CD" or words[noun].tag != "NNS":
        return None
    if tree.low(number) == "one" or words[noun].entity == "MONEY":
        return None
    places = tree.below(noun)
    digits = tree.below(number)
    left = [p for p in places if p < noun and p not in digits]
    if any(words[p].dep not in ("amod", "compound", "nmod", "quantmod", "advmod") for p in left):
        return None
    kinds = [p for p in left if p > number]
    counted = [p for p in places if p <= noun]
    kinds += [p for p in places if p >= noun]
    return (counted, kinds) if _unbroken(counted) and not any(words[p].text in "([" for p in kinds) else None


def _wh(tree: _Tree, place: int) -> str:
    """Return "who" for a named person or "the one who …", "what" for other names and nouns, "" where it is open."""
    word = tree.words[place]
    clauses = [child for child in tree.children[place] if tree.words[child].dep == "relcl"]
    whose = any(tree.low(p) in ("who", "whom") for clause in clauses for p in tree.children[clause])
    if whose or tree.low(place) in _SOMEBODY or (word.entity == "PERSON" and word.tag[:3] == "NNP"):
        return "who"
    if word.tag[:2] != "NN":
        return ""
    is_open = not word.entity and word.tag[:3] != "NNP" and re.search(rf"{_DOER.pattern}$", tree.low(place))
    return "" if is_open else "what"


def _of_subject(tree: _Tree, clause: _Clause, target: _Target) -> str:
    """Turn "Supervisors approve leave." into "Who approves leave?": the first verb becomes singular."""
    verbs = [*clause.between, clause.verb]
    finite = next(p for p in verbs if tree.words[p].dep in ("aux", "auxpass") or p == clause.verb)
    many = tree.child(clause.verb, "attr")
    plural = many is not None and tree.words[many].tag in ("NNS", "NNPS")  # "What are the exceptions?"
    pieces: list[str | Indices] = [_singular(tree.words[p]) if p == finite and not plural else [p] for p in verbs]
    return _sentence(tree, clause, target.wh, *pieces, clause.rest)


def _singular(verb: Word) -> str:
    text = _LONG.get(verb.text.replace("’", "'"), verb.text).lower()
    if text in _THIRD or verb.tag != "VBP":
        return _THIRD.get(text, text)
    if verb.lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb.lemma + "es"
    return verb.lemma[:-1] + "ies" if re.search("[^aeiou]y$", verb.lemma) else verb.lemma + "s"


def _turned(tree: _Tree, clause: _Clause, target: _Target) -> str:
    """Question word, helping verb, subject, verb, rest; a command becomes "should you"."""
    words, verb = tree.words, clause.verb
    rest = [place for place in clause.rest if place not in target.gone]
    subject = _subject(tree, clause.subject) if clause.subject else "you"
    helpers = [p for p in clause.between if words[p].dep in ("aux", "auxpass") and words[p].head == verb]
    helpers = [p for p in helpers if words[p].tag != "TO"]
    if not clause.subject:
        middle = [p for p in clause.between if words[p].lemma != "do" and tree.low(p) != "please"]
        pieces: tuple[str | Indices, ...] = ("should", subject, middle, words[verb].text.lower())
    elif words[verb].lemma == "be" and not helpers:
        pieces = (_full(words[verb]), subject, clause.between)
    elif helpers:
        pieces = (_full(words[helpers[0]]), subject, [p for p in clause.between if p != helpers[0]], [verb])
    elif words[verb].tag in _DO:
        pieces = (_DO[words[verb].tag], subject, clause.between, words[verb].lemma)
    else:
        return ""
    return _sentence(tree, clause, target.wh, *pieces, rest)


def _full(verb: Word) -> str:
    """A helping verb, written out."""
    text = verb.text.replace("’", "'").lower()
    return ("has" if verb.lemma == "have" else "is") if text == "'s" else _LONG.get(text, text)


def _subject(tree: _Tree, places: Indices) -> str:
    """The subject as it reads inside a sentence."""
    return _inside(tree, places, tree.said(places))


def _inside(tree: _Tree, places: Indices, text: str) -> str:
    """`text`, which begins with these words, as it reads inside a sentence: names keep their capital."""
    word = tree.words[places[0]]
    following = tree.words[places[1]].text if len(places) > 1 else ""
    named = word.tag[:3] == "NNP" or (word.entity and word.tag != "CD")
    named = named or bool(re.search(r".[A-Z0-9]", word.text)) or following[:1].isupper()
    is_function = word.tag in ("DT", "PRP$", "IN", "PRP") or word.text.lower() in _FUNCTION
    return _lowered(text) if (is_function or (places[0] == 0 and not named)) and word.text != "I" else text


def _in_place(tree: _Tree, clause: _Clause, target: _Target, whole: Indices) -> str:
    """The clause with the question word where the answer stands; nothing when it would begin with it."""
    left = [p for p in whole if p < target.gone[0] and p not in clause.before]
    right = [p for p in whole if p > target.gone[-1] and p not in clause.before]
    if not left:
        return ""
    text = tree.said(left, target.wh, right)
    return _sentence(tree, clause, _inside(tree, left, text) if clause.before else text)


def _sentence(tree: _Tree, clause: _Clause, *pieces: str | Indices) -> str:
    line = tree.said(*pieces)
    if before := tree.said(clause.before):
        line = f"{before}, {line}"
    return line[:1].upper() + line[1:].rstrip(" .,;:!") + "?"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _checked(tree: _Tree, target: _Target, whole: Indices, question: str) -> Iterator[Asked]:
    """Give the question with its score, unless it or its answer would not be understood alone."""
    words, answer = tree.words, target.answer
    kept = [p for p in whole if p not in target.gone]
    owner = any(words[p].dep[:5] == "nsubj" and words[p].tag[:2] == "NN" for p in kept)
    if not question or not answer or len(answer) > 18 or _BAD_ENGLISH.search(question):
        return
    if any(question.count(left) != question.count(right) for left, right in (("(", ")"), ("[", "]"), ("“", "”"))):
        return
    if question.count('"') % 2 or "''" in question:  # half of a pair of quotation marks
        return
    if not _can_answer(tree, answer) or any(_points(tree, p, owner=owner) for p in kept):
        return
    bare = [tree.words[p].head for p in kept if _is_bare(tree, p)]
    if any(words[head].dep[:5] == "nsubj" for head in bare):  # "the course": which one is said elsewhere
        return
    if any(words[p].dep == "prep" and not tree.children[p] for p in kept):
        return
    content = [p for p in kept if words[p].tag[:2] in ("NN", "VB", "JJ", "CD") and words[p].lemma.lower() not in _EMPTY]
    if len(content) < (2 if target.bonus >= 2 else 3) or not any(words[p].tag[:2] in ("NN", "CD") for p in content):
        return
    score = min(len(content), 8) + target.bonus + any(words[p].entity for p in answer)
    score += any(words[p].tag[:3] == "NNP" for p in content)
    score -= len(bare) + max(0, len(answer) - 8) * 0.5 + max(0, len(kept) - 22) * 0.3
    start, end = words[answer[0]].start, words[answer[-1]].end
    yield Asked(question, " ".join(tree.sentence[start:end].split()), score)


def _can_answer(tree: _Tree, answer: Indices) -> bool:
    words = tree.words
    around = tree.sentence[words[answer[0]].start - 1 : words[answer[0]].start] if answer[0] else ""
    around += tree.sentence[words[answer[-1]].end : words[answer[-1]].end + 1]
    if re.search(r"[\w/–-]", around):  # half of "e-ticket"
        return False
    if (
        _is_bare(tree, answer[0])
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
    if any(tree.low(p) in _POINTING_ANSWER or _points_that(tree, p) for p in answer):
        return False
    return any(words[p].tag[:2] in ("NN", "CD", "VB") and words[p].lemma.lower() not in _EMPTY for p in answer)


def _is_bare(tree: _Tree, place: int) -> bool:
    """True for the article of "the course", which nothing tells from other courses."""
    if tree.low(place) != "the":
        return False
    head = tree.words[place].head
    others = [child for child in tree.children[head] if tree.words[child].dep not in ("det", "punct", "predet")]
    return tree.words[head].tag in ("NN", "NNS") and not tree.words[head].entity and not others


def _points(tree: _Tree, place: int, *, owner: bool = False) -> bool:
    """True for words that stand for something said elsewhere; "its" does not where its `owner` is named."""
    word = tree.words[place]
    if owner and word.tag == "PRP$":
        return False
    return _points_that(tree, place) or (word.text.lower() in _POINTING and word.tag not in ("WDT", "IN"))


def _points_that(tree: _Tree, place: int) -> bool:
    return tree.low(place) == "that" and tree.words[place].tag == "DT"


# Chinese

# Said elsewhere: anywhere in a question, or at its beginning, where nothing before can be meant.
_ZH_ELSEWHERE = re.compile(
    "上述|以[上下](?!游)|如[下上](?!属)|下列|[上下]面|本(?:[条章节文书]|手册|指南)|前者|后者|[见如](?:附|图|表)"
    "|什么|怎么|如何|为何|哪|谁|[吗呢？?]"
)
_ZH_POINTING = re.compile("这|那(?!么)|它|此(?!外)|该(?!死)|(?<!其)他(?!人)|她|其(?![他它中实余次])")
_ZH_OPENING = re.compile(
    "^(?:[【\\[][^】\\]]{1,8}[】\\]]|第[一二三四五六七八九十]+[、，]|\\d{1,3}[.)）、](?!\\d)"
    "|(?:因此|所以|但是|但|并且|而且|同时|另外|此外|例如|比如|然而|而|且|那么|其中|也就是说|不过|总之|即|并)[，,：:]?|\\s)+"
)
_ZH_FRAGMENT = re.compile(
    "(?:也|还|则|就|才|又|或者|以及|及|或|如果|若|当|只要|即使|虽然|因为|由于|为了|从而|以便|之|的|地|得)"
)
_ZH_CONDITION = re.compile("(?:如果|若|当|只要|即使|虽然|因为|由于|为了|除非|一旦|对于|关于|在.*[时后前]$)")
_ZH_MODAL = _set(
    "必须 应该 应 应当 不能 不得 不可 可以 需要 需 不要 能 能够 可 会 要 请 尽量 是 由 为 有 使 让 被 等 如 说"
)
_ZH_EMPTY = _ZH_MODAL | _set(
    "进行 使用 做 问题 情况 时 时候 方式 内容 部分 东西 说明 要求 之一 一种 例子 方面 作用 意义 结果 重要"
    " 禁止 避免 建议 利用 注意"
)
_ZH_CAUSES = _set("导致 造成 避免 防止 影响 保证 引起 产生 禁止 确保")
_ZH_NUMBER = re.compile(r"(?:\d[\d,.]*|[二两三四五六七八九十百千万亿]+)[十百千万亿]*(?:多|余)?")
_ZH_TIME = re.compile("[\\d〇一二三四五六七八九十]+\\s*[年月日号点时]|星期|周[一二三四五六日]|世纪|年代")
_ZH_UNITS = _set(
    "天 年 个月 小时 分钟 秒 毫秒 行 个 位 字符 元 万元 美元 米 公里 千米 厘米 毫米"
    " 人 次 条 层 种 台 间 岁 公斤 克 吨 页 章 节 份 名"
)
_SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏"
)
_ZH_STOPS = frozenset('，,；;：:。！？!?（()）“”"《》')

_ZhTarget = tuple[int, int, str, float]  # first word, past the last, question word, bonus


def _chinese(sentence: str, words: Sequence[Word]) -> Iterator[Asked]:
    for target in (*_zh_facts(words), *_zh_subject(words), *_zh_objects(words)):
        yield from _zh_asked(sentence, words, *target)


def _zh_facts(words: Sequence[Word]) -> Iterator[_ZhTarget]:
    """Numbers with their unit, dates, people, places, and who does something."""
    nobody = Word(0, 0, "", "")
    for place, word in enumerate(words):
        before = words[place - 1] if place else nobody
        after = words[place + 1] if place + 1 < len(words) else nobody
        if _ZH_NUMBER.fullmatch(word.text) and before.tag != "m" and before.text not in ("第", "-", ".", "/", ",", ":"):
            yield from _zh_number(place, word, after)
        elif word.tag == "t" and _ZH_TIME.search(word.text):
            yield place, place + 1, "什么时候", 3.0
        elif word.tag == "nr" and word.text[0] in _SURNAMES and 2 <= len(word.text) <= 3:
            if "n" not in (before.tag[:1], after.tag[:1]) and "·" not in (before.text, after.text):
                yield place, place + 1, "谁", 2.0
        elif word.tag == "ns" and before.text in ("在", "于", "位于", "到", "去") and after.tag[:1] not in (*"nvfuda",):
            yield place, place + 1, "哪里", 3.0
        elif word.text == "由":
            yield from _zh_doer(place + 1, words)


def _zh_number(place: int, number: Word, after: Word) -> Iterator[_ZhTarget]:
    if after.text == "%":
        yield place, place + 2, "百分之多少", 4.0
    elif (after.tag == "q" or after.text in _ZH_UNITS) and not (after.text == "年" and len(number.text) == 4):
        yield place, place + 2, f"多少{after.text}", 4.0


def _zh_doer(start: int, words: Sequence[Word]) -> Iterator[_ZhTarget]:
    end = start
    while end < len(words) and words[end].tag in ("n", "nr", "nz", "eng", "vn", "b", "l", "nt", "ns"):
        end += 1
    if start < end < len(words) and words[end].tag[0] == "v":
        yield start, end, "谁", 3.0


def _zh_subject(words: Sequence[Word]) -> Iterator[_ZhTarget]:
    """What the sentence begins with, up to the verb or what leads up to it."""
    end = 0
    while end < len(words) and (
        words[end].tag in ("n", "nz", "vn", "eng", "l", "b", "a", "j", "ns", "nt", "uj", "c") or words[end].text == "、"
    ):
        end += 1
    clause = next((words[first:last] for first, last in _zh_clauses(words) if first == 0), [])
    if any(word.tag == "uj" for word in clause[end:]) or (end < len(words) and words[end].text in ("都", "也", "均")):
        return  # a verb before "的" belongs to a longer subject; "什么都" is "everything"
    if (
        0 < end < len(words)
        and words[end - 1].tag[0] in "nelj"
        and (words[end].tag in ("d", "p") or words[end].text in _ZH_MODAL)
    ):
        person = words[end - 1].text.endswith(("人", "员", "者", "师"))
        yield 0, end, "谁" if person else "什么", 1.5


def _zh_objects(words: Sequence[Word]) -> Iterator[_ZhTarget]:
    """What follows a verb up to the end of its clause."""
    for first, end in _zh_clauses(words):
        verbs = [p for p in range(first, end - 1) if words[p].tag in ("v", "vg", "vd") or words[p].text in ("是", "为")]
        for turn, verb in enumerate(verbs):
            start = verb + 1
            while start < end and (words[start].tag in ("ul", "uz") or words[start].text.isspace()):
                start += 1
            before = words[verb - 1].tag[0] if verb > first else "-"
            is_copula = words[verb].text in ("是", "为") and before in "nveljt"
            # "编译器解析成本", "与注释内容": a verb inside a noun phrase
            inside = before in "pcqmbu" or (turn > 0 and before in "nea")
            inside = inside or (before == "v" and words[verb - 1].text not in _ZH_MODAL)
            inside = inside or len(words[verb].text) == 1
            leads = is_copula or not (inside or words[verb].text in _ZH_MODAL)
            if leads and start < end and _zh_object(words[start:end], words[verb].text in _ZH_CAUSES):
                yield start, end, "什么", 2.5 if is_copula else 2.0


def _zh_object(words: Sequence[Word], is_effect: bool) -> bool:
    """True for what reads as a noun phrase, or as the effect of something."""
    opening, closing = words[0], words[-1]
    if opening.tag[0] not in "nabmelj" or opening.tag in ("ng", "ad") or opening.text[0].isdigit():
        return False
    if is_effect:
        return True
    owned = next((place for place, word in enumerate(words) if word.tag == "uj"), 0)
    if any(word.tag[0] == "v" for word in words[:owned]):
        return False  # "受资助的学校": the verb goes on
    closed = closing.tag[0] in "nelj" or (closing.tag[0] == "v" and any(word.tag == "uj" for word in words))
    return (closed or closing.tag == "vn") and not any(word.tag in ("d", "ul") for word in words)


def _zh_clauses(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    first = 0
    for place, word in enumerate(words):
        if word.text in _ZH_STOPS:
            if place > first:
                yield first, place
            first = place + 1
    if first < len(words):
        yield first, len(words)


def _zh_asked(sentence: str, words: Sequence[Word], start: int, end: int, wh: str, bonus: float) -> Iterator[Asked]:
    """Ask up to the end of the clause that the answer stands in, unless nobody would understand it alone."""
    first, last = next((f, e) for f, e in _zh_clauses(words) if f <= start < e)
    answer = sentence[words[start].start : words[end - 1].end].strip()
    after = sentence[words[end - 1].end : words[last - 1].end]
    if end > last or _ZH_CONDITION.match(sentence[words[first].start : words[last - 1].end]):
        return
    opening = 0
    before = sentence[: words[start].start]
    if len(before) + len(after) > 44:
        opening, before = first, sentence[words[first].start : words[start].start]
    if start > opening and not _zh_has_subject(words, opening, start):
        return
    before = _ZH_OPENING.sub("", before)
    if wh[0] in "什谁哪" and before.endswith("为"):  # "为什么" asks why
        if words[start - 1].text != "为":
            return
        before = before[:-1] + "是"
    question = re.sub(r"\s+", " ", f"{before.rstrip()}{wh}{after.lstrip()}").strip(" ，,：:、。")
    content = _zh_content([*words[opening:start], *words[end:last]])
    if _zh_bad(before, after, answer) or not 8 <= len(question) <= 60:
        return
    if len(content) < 2 or (bonus < 3 and not _zh_content(words[start:end])):
        return
    score = min(len(content), 7) + bonus - max(0, len(question) - 35) * 0.1 - max(0, len(answer) - 12) * 0.2
    yield Asked(f"{question}？", answer, score)


def _zh_has_subject(words: Sequence[Word], opening: int, start: int) -> bool:
    """Whether one of the clauses up to `start` begins with what it is about: a noun, after adverbs and times."""
    for first, _ in _zh_clauses(words[:start]):
        place = max(first, opening)
        while place < start and (words[place].tag[0] in "dtc" or words[place].text.isspace()):
            place += 1
        if first >= opening and place < start and (words[place].tag[0] in "nelja" or words[place].tag in ("vn", "b")):
            return True
    return False


def _zh_bad(before: str, after: str, answer: str) -> bool:
    """True for what points elsewhere, begins in the middle, or has half a pair of brackets."""
    pairs = ("（", "）"), ("(", ")"), ("“", "”"), ("《", "》"), ("[", "]"), ("「", "」")
    if any(text.count(left) != text.count(right) for left, right in pairs for text in (before + after, answer)):
        return True
    if _ZH_ELSEWHERE.search(before + after + answer) or _ZH_POINTING.search(before[:5]) or _ZH_POINTING.match(answer):
        return True
    if _ZH_FRAGMENT.match(before) and "，" not in before:
        return True
    return len(answer) > 24 or answer.endswith(("的", "了")) or (len(answer) < 2 and not answer.isdigit())


def _zh_content(words: Sequence[Word]) -> list[Word]:
    """Words to search for: nouns, verbs, adjectives, names, but not the commonest."""
    return [
        word
        for word in words
        if word.tag[0] in "nvajlie" and word.text not in _ZH_EMPTY and (len(word.text) > 1 or word.tag[0] == "n")
    ]
