"""What other choices would have measured, in words."""

from __future__ import annotations

from ragviz.analysis import risk_coverage
from ragviz.analysis.approximation import Losses
from ragviz.analysis.what_if import Choices, Effect
from ragviz.runs import what_if_of_run
from ragviz.runs.what_if_of_run import Chosen, Risk, StoredRankings


def choices_words(stored: StoredRankings, choices: Choices, constant: int | None) -> str:
    """Say what is compared, in a sentence."""
    own, config = what_if_of_run.own_choices(stored.run), stored.run.config

    def said(of: Choices, fused: int | None) -> str:
        parts = [f"k = {of.k}"]
        parts += [f"RRF constant {fused}"] if config.retriever == "hybrid" and fused is not None else []
        parts += [f"score at least {of.threshold:g}"] if of.threshold is not None else []
        parts += [f"{of.budget:,} tokens at most"] if of.budget is not None else []
        return ", ".join(parts)

    new = config.rrf_constant if constant is None else constant
    n = len(stored.rankings.results)
    return (
        f"{said(choices, new)} against the run's own {said(own, config.rrf_constant)}; {n:,} questions with evidence."
    )


def cells(name: str, effect: Effect) -> tuple[str, str, str]:
    """Return a metric as the run has it, as it would be, and the difference with its interval."""
    digits = 0 if name == "tokens" else 3
    own, other = ("–" if each.mean is None else f"{each.mean:,.{digits}f}" for each in (effect.own, effect.other))
    return own, other, difference_words(effect, digits)


def difference_words(effect: Effect, digits: int) -> str:
    """Return a difference with its interval, "" when nothing was measured.

    >>> from ragviz.core.call import Estimate
    >>> one = Estimate(0.05, -0.01, 0.11, 80)
    >>> difference_words(Effect(one, one, one), 2)
    '+0.05 [-0.01, +0.11]'
    """
    moved = effect.difference
    if moved.mean is None:
        return ""
    return f"{moved.mean:+,.{digits}f} [{moved.low:+,.{digits}f}, {moved.high:+,.{digits}f}]"


def curve_words(risk: Risk, curve: risk_coverage.Curve) -> str:
    """Say what answering everything risks, and how well the scores tell which answers are wrong."""
    area = curve.aurc
    missing = "" if risk.judged else " (evidence not among the first k)"
    left_out = f" {risk.left_out:,} of which it is not known are left out." if risk.left_out else ""
    return (
        f"{curve.answered:,} of {curve.n:,} questions are answered, {curve.whole:.1%} of these wrong{missing}, "
        f"{risk.unanswerable:,} unanswerable ones among the questions. AURC {area.mean:.3f} [{area.low:.3f}, "
        f"{area.high:.3f}]: {curve.whole:.3f} if the scores told nothing, {curve.best:.3f} at best.{left_out}"
    )


def chosen_words(picked: Chosen, curve: risk_coverage.Curve) -> str:
    """Say which threshold keeps the risk, and what it does; with the warning that belongs to it."""
    if picked.threshold is None or picked.chosen is None:
        place = int(curve.risk.argmin())
        return (
            f"No threshold keeps the risk at {picked.most:.1%} or below on {picked.chosen_on}: the least of all "
            f"questions is {curve.risk[place]:.1%}, with {curve.coverage[place]:.0%} answered."
        )
    words = (
        f"Risk of at most {picked.most:.1%}: answer when the score is at least {picked.threshold:.4g}. "
        f"On {picked.chosen_on}: {point_words(picked.chosen)}."
    )
    if picked.tested is not None:
        return f"{words} On {picked.tested_on}, which had no part in choosing it: {point_words(picked.tested)}."
    return f"{words} It was chosen on these same questions: expect a greater risk on others."


def point_words(at: risk_coverage.Point) -> str:
    """Return coverage and risk with its interval in words."""
    answered = f"{at.answered:,} of {at.n:,} answered ({at.coverage:.0%})"
    if at.risk.mean is None:
        return answered
    return f"{answered}, {at.wrong:,} wrong: risk {at.risk.mean:.1%} [{at.risk.low:.1%}, {at.risk.high:.1%}]"


def losses_words(compared: Losses) -> str:
    """Say how many questions the embedder loses at k, and how many the index."""
    counts = {name: int(mask.sum()) for name, mask in compared.found.items()}
    agreement = compared.agreement
    return (
        f"At k = {compared.k}, of {sum(counts.values()):,} questions: {counts['both']:,} found by both searches, "
        f"{counts['neither']:,} missed by both (the embedder), {counts['exact']:,} missed by the approximate search "
        f"only (the index), {counts['approximate']:,} found by it only (chance). Recall@{compared.k} of the "
        f"approximate search against the exact one: {agreement.mean:.3f} [{agreement.low:.3f}, {agreement.high:.3f}]."
    )
