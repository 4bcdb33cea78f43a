"""Every model call behind one question: its prompt by role, its reply, and what it took."""

from __future__ import annotations

import streamlit as st

from ragviz.core.call import Call
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import replay
from ragviz.judging.steps import STEPS
from ragviz.runs import exchanges
from ragviz.text.markup import code, plain
from ragviz.ui import cache, wording
from ragviz.ui.kit import heading


def judge_calls(run: Run, retrieved: Retrieved, evaluated: EvaluatedAnswer | None) -> None:
    """Draw the calls in the order of the flow: a line each, which opens to the prompt and the reply."""
    if evaluated is None:
        st.caption("No model was asked about this question: the run did not answer or judge it.")
        return
    for step, why in evaluated.failures.items():
        st.warning(f"{step_title(step)}: {plain(why)}")
    found = exchanges.exchanges_of(cache.workspace(), run, retrieved, evaluated)
    if not found:
        st.caption("No model was asked about this question: its answer and its scores were made without one.")
        return
    heading.section("Judge calls")
    st.markdown(total_words([exchange.call for exchange in found]))
    st.caption(
        "Prompts are built again from what the run stored. A line opens to the prompt by role and the reply; JSON is "
        "indented."
    )
    with st.container(gap="xsmall", key="judge-calls"):
        for exchange in found:
            with st.expander(call_words(exchange.call)):
                one_exchange(exchange)


def one_exchange(exchange: replay.Exchange) -> None:
    """Draw the messages and the reply of a call."""
    if exchange.messages is None:
        st.caption(f"The prompt cannot be shown: {exchange.why}.")
    for message in exchange.messages or ():
        st.html(f'<h3 class="rv-role">{ROLES.get(message["role"], "Message")}</h3>{code(message["content"])}')
    st.html(f'<h3 class="rv-role">Reply</h3>{code(exchange.call.raw)}')


ROLES = {"system": "System", "user": "User", "assistant": "Assistant"}
"""Role of a message → its heading."""


def total_words(calls: list[Call]) -> str:
    """Return what the calls took together; those whose model has no price are counted apart."""
    priced = [call.cost for call in calls if call.cost is not None]
    cost = f"\\${sum(priced):.4f}" if priced else "no price known"
    unpriced = f" ({len(calls) - len(priced)} without a price)" if priced and len(priced) < len(calls) else ""
    tokens = f"{sum(c.prompt_tokens for c in calls):,} input + {sum(c.completion_tokens for c in calls):,} output"
    seconds = sum(call.seconds for call in calls)
    return f"**{wording.counted(len(calls), 'call')}** · {tokens} tokens · {seconds:.1f} s · {cost}{unpriced}"


def call_words(call: Call) -> str:
    """Return the step of a call, who was asked by which version of the prompt, and what it took."""
    cost = "no price known" if call.cost is None else f"${call.cost:.4f}"
    return " · ".join(
        [
            f"**{step_title(call.step)}**",
            plain(call.model),
            f"prompt version {plain(call.prompt)}",
            f"{call.prompt_tokens:,} + {call.completion_tokens:,} tokens",
            f"{call.seconds:.1f} s",
            f"{plain(cost)}{', cached: not paid again' if call.cached else ''}",
        ]
    )


def step_title(name: str) -> str:
    """Return what a step is called."""
    return STEPS[name].title
