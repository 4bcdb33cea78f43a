"""Questions from single sentences, without a model: English by the parse tree, Chinese by parts of speech.

Sentences that make bad questions (no noun left to search for, "it", "this", a broken parse) are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.claims import chinese, english
from ragviz.claims.candidate import Candidate
from ragviz.claims.english import FUNCTION, OPENING_PHRASE
from ragviz.core.document import Word


def questions(sentence: str, words: Sequence[Word], language: str) -> list[Candidate]:
    """Return every question that can be made of `sentence`, the best first; often there are none.

    `words` is its parse (`words.parse`); "zh" makes Chinese questions, every other language English ones.
    """
    candidates = chinese.chinese(sentence, words) if language == "zh" else english.english(sentence, words)
    return sorted(candidates, key=lambda question: -question.score)


def core(sentence: str, language: str) -> str:
    """Return `sentence` without a connective or label at its beginning: "For example, ", "Note: ", "【甲】", "因此，".

    >>> core("In addition, the desk lends maps.", "en"), core("【甲】表名不使用复数名词。", "zh")
    ('The desk lends maps.', '表名不使用复数名词。')
    """
    rest = (chinese.OPENING if language == "zh" else OPENING_PHRASE).sub("", sentence, count=1)
    return rest if language == "zh" else rest[:1].upper() + rest[1:]


def joined(parts: Sequence[Candidate], language: str) -> Candidate:
    """Return one question that asks for all that `parts` ask for; its answer joins theirs in the same order.

    >>> joined([Candidate("Who pays?", "Ann", 1), Candidate("How much is it?", "$5", 1)], "en").question
    'Who pays, and how much is it?'
    """
    stems = [part.question.rstrip("?？") for part in parts]
    score = min(part.score for part in parts)
    if language == "zh":
        return Candidate("；".join(stems) + "？", "；".join(part.answer for part in parts), score)
    first, *others = stems
    first_words = FUNCTION | {"regarding"}
    others = [english.lowered(stem) if stem.split()[0].rstrip(",").lower() in first_words else stem for stem in others]
    comma = "; " if any("," in stem for stem in stems) else ", "
    together = comma.join([first, *others[:-1], *(f"and {stem}" for stem in others[-1:])])
    return Candidate(together + "?", "; ".join(part.answer for part in parts), score)
