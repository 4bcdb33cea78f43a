"""What an English sentence and its question must not need: words of other sentences, other languages or lost signs."""

from __future__ import annotations

import re

from ragviz.claims import candidate
from ragviz.claims.candidate import Indices
from ragviz.claims.english_clauses import Clause, Tree
from ragviz.core.document import Word

_ENGLISH = candidate.word_set(
    "the of and to is are for that with from by this be it you not at but if they their which when there have has will"
    " should must can may than then into its your our"
)
"""Function words of English that other languages of Latin letters hardly have."""
_LOWER = re.compile(r"(?<![\w.@/])[^\W\d_]+(?![\w@/])")
_SIGN_LABEL = re.compile(r"(?:[-*+•>]?[ \t])*(?![-•>][ \t])[^\w\s]+[ \t]+[-–—:=][ \t]")
"""A line that begins with a sign and what it means: "* - The letter before …"."""
_OPTION = re.compile(r"[\s>*+`•]*(?:-\s+)?`?--?[A-Za-z]")
"""How a line begins that names an option."""
_VAGUE_THINGS = candidate.word_set("something anything everything somewhere similar alike such actual")
_PARTS = candidate.word_set("step figure example table chapter section page line item part listing paragraph appendix")
"""What parts of a document are called: with a number they are known in that document only."""
_SOME = candidate.word_set("few several some many various certain couple number")
_TELLING = candidate.word_set("of for with from in on within by through into")
"""Prepositions after a noun that tell which kind it is."""
_LIGHT = candidate.word_set("make give take put")
"""Verbs whose object says what is done: an infinitive of one with an adjective remarks, "to make a simple case, …"."""


def is_foreign(sentence: str) -> bool:
    """Return whether a sentence is of another language than English, by its function words and letters.

    >>> is_foreign("A torre oferece cartões para visitar e fotografar navios."), is_foreign("Tugs offer café tables.")
    (True, False)
    """
    words = [word for word in _LOWER.findall(sentence) if word.islower()]
    english = sum(word in _ENGLISH for word in words)
    accented = len({word for word in words if not word.isascii()})
    if not english:
        return accented > 0 and len(words) >= 4
    return accented >= 2 and english * 8 < len(words)


def explains_a_sign(text: str, start: int) -> bool:
    """Return whether the line of `start` begins with a sign and a dash, so that its sentence is about the sign."""
    return _SIGN_LABEL.match(text, text.rfind("\n", 0, start + 1) + 1) is not None


def describes_an_option(text: str, start: int) -> bool:
    r"""Return whether the line with text above a sentence is a command's option, which the sentence may describe.

    >>> describes_an_option("-q, --quiet\n\nDo not print.", 13), describes_an_option("Rules\n\nDo not run.", 7)
    (True, False)
    """
    line = text[max(0, start - 300) : text.rfind("\n", 0, start) + 1].rstrip().rpartition("\n")[2]
    return _OPTION.match(line) is not None


def is_bound(tree: Tree, clause: Clause, known: frozenset[str]) -> bool:
    """Return whether a sentence continues or comments on the text around it; `known` are the words of its titles."""
    if is_remark(tree, clause) or joins_a_clause(tree, clause):
        return True
    if is_ours(tree, clause) or numbers_parts(tree, clause.subject):
        return True
    return any(refers_by_adjective(tree, p, known) for p in range(len(tree.words)))


def is_open(tree: Tree, answer: Indices, remaining: Indices) -> bool:
    """Return whether an answer or the rest of its question stands for what other sentences say, or is cut."""
    return compares(tree, [*remaining, *answer]) or is_cut_infinitive(tree, answer)


def is_remark(tree: Tree, clause: Clause) -> bool:
    """Return whether what precedes the clause speaks of the text, not of its matter: "as usual", "in general"."""
    words = tree.words
    opening = [p for p in clause.before if words[p].text != ","]
    if not opening:
        return False
    is_nounless = words[opening[0]].tag == "IN" and all(words[p].tag[:2] in ("IN", "JJ", "RB") for p in opening)
    is_light = len(opening) > 2 and words[opening[0]].tag == "TO" and words[opening[1]].lemma in _LIGHT
    return is_nounless or (is_light and any(words[p].tag == "JJ" for p in opening))


def joins_a_clause(tree: Tree, clause: Clause) -> bool:
    """Return whether a noun coordinated with the object of a preposition may be the subject of the next clause.

    "You can tie a rope to a ring and tugs pull at it": nothing is tied to tugs.
    """
    words = tree.words
    for place, word in enumerate(words):
        if (
            place in clause.subject
            or word.dep != "conj"
            or word.tag[:2] != "NN"
            or words[word.head].dep not in ("pobj", "dobj")
        ):
            continue
        after = tree.below(place)[-1] + 1
        if after < len(words) and words[after].tag in ("VBZ", "VBP", "VBD", "MD"):
            return True
    return False


def compares(tree: Tree, places: Indices) -> bool:
    """Return whether a word likens to, or stands for, what another sentence says; "similar to a tug" does not."""
    return any(
        tree.low(p) in _VAGUE_THINGS and not (p + 1 < len(tree.words) and tree.low(p + 1) in ("to", "as"))
        for p in places
    )


def numbers_parts(tree: Tree, places: Indices) -> bool:
    """Return whether a phrase is of numbered parts of the document: "steps 3 and 4"."""
    words = tree.words
    return any(
        words[p].lemma.lower() in _PARTS and p + 1 < len(words) and words[p + 1].tag == "CD" and p + 1 in places
        for p in places
    )


def is_ours(tree: Tree, clause: Clause) -> bool:
    """Return whether "we" or "one" does something when they do something else: "what do we do when we …"."""
    words = tree.words
    persons = [p for p, word in enumerate(words) if word.dep[:5] == "nsubj" and tree.low(p) in ("we", "one")]
    aside = [p for p in persons if tree.low(tree.below(words[p].head)[0]) in ("when", "whenever", "if", "while")]
    return bool(aside) and any(p in clause.subject for p in persons)


def is_complete(tree: Tree, clause: Clause, answer: Indices) -> bool:
    """Return whether what is said of a subject that is asked for tells it from others.

    It does where the answer is a name, or the predicate has a name, a figure or a specified noun; and no predicate
    does that is about some of many: "fixes a few small leaks".
    """
    words = tree.words
    rest = [p for p in clause.rest if p not in answer]
    named = any(words[p].tag[:3] == "NNP" or words[p].entity for p in answer)
    if tree.low(answer[0]) in ("a", "an") and not named:
        return False  # one of many: "a small program will be started"
    if any(tree.low(p) in _SOME and words[p].tag in ("JJ", "DT", "NN") for p in rest):
        return False
    if any(words[p].tag[:3] == "NNP" or words[p].text[0].isdigit() or words[p].entity for p in [*rest, *answer]):
        return True
    nouns = [p for p in rest if words[p].tag in ("NN", "NNS") and words[p].dep in ("dobj", "pobj", "attr")]
    return any(
        words[c].dep in ("amod", "compound", "nmod", "prep", "relcl", "acl", "poss", "nummod")
        for p in nouns
        for c in tree.children[p]
    )


def is_cut_infinitive(tree: Tree, answer: Indices) -> bool:
    """Return whether an infinitive that answers is one of several steps: the sentence goes on after it."""
    words = tree.words
    if words[answer[0]].tag != "TO":
        return False
    return any(word.tag not in (".", ":") for word in words[answer[-1] + 1 :])


def defines(tree: Tree, clause: Clause, head: int) -> bool:
    """Return whether a predicate noun is an indefinite kind, restricted by what it does, is for or is of, to the end.

    "A gate that counts boats" is; "a security risk" and "a project of Software Inc." are not. "The gate that …" is
    one of a name.
    """
    words = tree.words
    determiner = tree.child(head, "det")
    is_indefinite = tree.low(determiner) in ("a", "an") if determiner is not None else _is_plural(words[head])
    named = all(words[p].tag in ("NNP", "NNPS", "DT", "POS") for p in clause.subject)
    is_only_one = named and any(words[c].dep == "relcl" for c in tree.children[head])  # "Oslo is the gate that …"
    is_whole = all(word.tag in (".", ":") for word in words[clause.rest[-1] + 1 :])
    after = [c for c in tree.children[head] if c > head and words[c].dep in ("prep", "relcl", "acl")]
    if any(_is_of_name(tree, c) for c in after):
        after = [c for c in after if words[c].dep == "relcl"]
    after += [c for c in tree.children[head] if c > head and words[c].dep == "amod" and tree.children[c]]
    return (is_indefinite or is_only_one) and is_whole and any(not _belongs(tree, c) for c in after)


def _is_plural(word: Word) -> bool:
    return word.tag == "NNS" and word.text.islower()


def _belongs(tree: Tree, place: int) -> bool:
    """Return whether a phrase tells no kind: "of" with a name says whose, "between" and "at" how or where it stands."""
    if tree.words[place].dep in ("relcl", "acl", "amod"):
        return False
    return tree.low(place) not in _TELLING or _is_of_name(tree, place)


def _is_of_name(tree: Tree, place: int) -> bool:
    inner = tree.child(place, "pobj")
    return tree.low(place) == "of" and inner is not None and tree.words[inner].text[:1].isupper()


def introduces(text: str, section: int, start: int, term: str) -> bool:
    """Return whether a term does not stand between the heading at `section` and the sentence at `start`."""
    line = text.find("\n", section, start)
    begun = line if line >= 0 and text[section : section + 1] == "#" else section
    return re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text[max(begun, start - 8000) : start], re.IGNORECASE) is None


def refers_by_adjective(tree: Tree, place: int, known: frozenset[str]) -> bool:
    """Return whether "the" with a lower-case adjective means a thing shown before: "the blue layer"."""
    word = tree.words[place]
    if word.dep[:5] != "nsubj" or word.tag not in ("NN", "NNS") or word.entity:
        return False
    determiner = tree.child(place, "det")
    if determiner is None or tree.low(determiner) != "the":
        return False
    others = tree.specifiers(place)
    is_described = bool(others) and all(
        tree.words[c].dep == "amod" and tree.words[c].tag != "VBG" and tree.words[c].text.islower() for c in others
    )
    return is_described and not all(tree.words[c].lemma.lower() in known for c in others)


def has_name(question: str) -> bool:
    """Return whether a question holds a name or identifier, or has a lead that names its topic.

    >>> has_name("What do the steps describe?"), has_name("What does apt_get print?"), has_name("Where does Ann sit?")
    (False, True, True)
    """
    return any(
        re.search(r"[A-Z“]", word if turn else word[1:]) or re.search(r"\w[\d_./-]\w|\d", word)
        for turn, word in enumerate(question.split())
    )
