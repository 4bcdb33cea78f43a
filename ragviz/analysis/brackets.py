"""Which of several runs cannot be told apart: groups in which no run is better than another, and those none beats."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.analysis.compare import Pair
from ragviz.text.counts import enumerated


def brackets(runs: Sequence[str], pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
    """Return the largest groups of two runs or more of which no pair is better or worse, in the order of `runs`.

    `pairs` are all pairs of the runs in one metric. A run may be in several groups: a and b, and b and c, may be close
    where a and c are apart. Groups are found by insertion and absorption (Piepho 2004).
    """
    groups = [frozenset(runs)]
    for apart in _apart(pairs):
        split = [part for group in groups for part in ([group - {run} for run in apart] if apart <= group else [group])]
        different = list(dict.fromkeys(split))
        groups = [group for group in different if not any(group < other for other in different)]
    places = {run: place for place, run in enumerate(runs)}
    ordered = [tuple(sorted(group, key=places.__getitem__)) for group in groups if len(group) > 1]
    return sorted(ordered, key=lambda group: [places[run] for run in group])


def unbeaten(runs: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """Return the runs that no other is better than; no pair of them is better or worse, so that they are tied."""
    beaten = {pair.baseline if pair.delta.verdict == "better" else pair.delta.run for pair in pairs if _is_apart(pair)}
    return [run for run in runs if run not in beaten]


def contenders(runs: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """Return the runs that are preferred: those better than the baseline, `runs[0]`, that no other of them beats.

    Where none is better than the baseline, those that no run is better than.
    """
    better = [pair.delta.run for pair in pairs if pair.baseline == runs[0] and pair.delta.verdict == "better"]
    return unbeaten_among(better, pairs) if better else unbeaten(runs, pairs)


def unbeaten_among(some: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """Return those of `some` runs that no other of them is better than; all where each is beaten, as in a ring."""
    among = [pair for pair in pairs if {pair.baseline, pair.delta.run} <= set(some)]
    return unbeaten(some, among) or list(some)


def beats(runs: Sequence[str], pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Return, for each run that is better than another, those that it is better than, both in the order of `runs`."""
    better = {
        (pair.delta.run, pair.baseline) if pair.delta.verdict == "better" else (pair.baseline, pair.delta.run)
        for pair in pairs
        if _is_apart(pair)
    }
    beaten = {run: [other for other in runs if (run, other) in better] for run in runs}
    return {run: others for run, others in beaten.items() if others}


def apart_words(runs: Sequence[str], pairs: Sequence[Pair]) -> str:
    """Say which of three runs or more are apart; "" for two, of which the verdict says it."""
    if len(runs) < 3:
        return ""
    beaten = beats(runs, pairs)
    if not beaten:
        return "No two can be told apart."
    return "; ".join(f"{run} is better than {enumerated(others)}" for run, others in beaten.items()) + "."


def _is_apart(pair: Pair) -> bool:
    return pair.delta.verdict in ("better", "worse")


def _apart(pairs: Sequence[Pair]) -> list[frozenset[str]]:
    return [frozenset((pair.baseline, pair.delta.run)) for pair in pairs if _is_apart(pair)]
