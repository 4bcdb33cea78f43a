"""Versions of all prompts of the judge, by step."""

from __future__ import annotations

from ragviz.judging import quest_prompts

VERSIONS = {"reference": "2", "claims": "2", "context": "2", "comparison": "2"}
"""Versions of the prompts below, by step: part of every score that rests on them."""

PROMPTS = VERSIONS | quest_prompts.VERSIONS
"""Versions of the prompts by step, the bank's too."""
