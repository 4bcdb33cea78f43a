"""Whether a text denies something, or says that there is no answer: by its words, English and Chinese."""

from __future__ import annotations

import re

_DENIAL = re.compile(r"\b(?:no|not|never|none|cannot|neither|nor|without)\b|n['’]t\b|[不没無无非勿未禁]", re.IGNORECASE)
_NOT_SAID = r"(?:do|does|did)(?: not|n.t) (?:say|tell|mention|contain|provide|answer|state|specify|include|give)\b"
_SOURCE = r"(?:given |provided |retrieved |available )*(?:context|passages?|documents?|texts?|sources?|excerpts?)"
_ABSTAINS = re.compile(
    rf"(?:(?:i.m |i am )?sorry,? (?:but )?|unfortunately,? |based on (?:the )?{_SOURCE},? )*"
    r"(?:i (?:do not|don.t|cannot|can.t|could not|am unable to) (?:know|answer|tell|say|find|determine)\b[^.]*"
    r"|(?:the |an |any |this |requested )*(?:answer|information)[^.]{0,40} (?:is|are|was|were) (?:not|un)[^.]*"
    r"|there is (?:no|not enough) (?:information|mention|answer)\b[^.]*"
    r"|(?:it |this |that )?(?:is )?(?:not (?:known|mentioned|stated|specified|answerable)|unknown)[^.]{0,40}"
    rf"|(?:the )?{_SOURCE}[^.]{{0,20}} {_NOT_SAID}[^.]*)[.!]?"
    r"|(?:抱歉|对不起|根据[^，,。]{1,12})?[，,]?我?(?:不知道|不清楚|无法(?:回答|确定|判断|得知))[^。]{0,20}[。！]?"
    r"|(?:所给的|给定的|提供的|根据)?(?:文中|文本|文档|上下文|资料|段落)[中里]?[，,]?(?:并?没有|并?未)"
    r"(?:提到|提及|说明|给出|提供)[^。]{0,20}[。！]?",
    re.IGNORECASE,
)


def denies(text: str) -> bool:
    """Return whether a text has a word of negation.

    >>> denies("It isn't open."), denies("It is open."), denies("禁止停车")
    (True, False, True)
    """
    return bool(_DENIAL.search(text))


def abstains(answer: str) -> bool:
    """Return whether an answer is one sentence that says that there is no answer.

    >>> abstains("I don't know."), abstains("The answer is not present in the context"), abstains("文中没有提到。")
    (True, True, True)
    >>> abstains("The passages do not say when it opens."), abstains("所给的段落没有说明。")
    (True, True)
    >>> abstains("At seven."), abstains("No, they see the names only after the grades have been given.")
    (False, False)
    """
    return _ABSTAINS.fullmatch(" ".join(answer.split())) is not None
