"""Logistic regression with an L2 penalty: the chance that a row is positive, from a few features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted model: `weights` are those of features scaled by `means` and `scales`, so they can be compared."""

    weights: Floats
    intercept: float
    means: Floats
    scales: Floats

    def scores(self, features: Floats) -> Floats:
        """Return the log odds of rows of features."""
        return np.asarray((features - self.means) / self.scales @ self.weights + self.intercept)


def fit(features: Floats, labels: NDArray[np.bool_], penalty: float = 1.0) -> Regression:
    """Fit by the least sum of log losses plus `penalty` / 2 × the squared length of the weights.

    Each feature is scaled to mean 0 and deviation 1 before; one that never varies gets the weight 0. The minimum is
    unique, so nothing depends on chance. As scikit-learn's `LogisticRegression(C=1 / penalty)` after `StandardScaler`.

    Raises:
        ValueError: there are no rows of one of the two kinds.

    """
    if labels.all() or not labels.any():
        raise ValueError("Rows of both kinds are needed.")
    means, deviations = features.mean(axis=0), features.std(axis=0)
    varies = deviations > 1e-12
    scales = np.where(varies, deviations, 1.0)
    scaled = (features - means) / scales * varies
    signs = np.where(labels, 1.0, -1.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights, intercept = parameters[:-1], parameters[-1]
        margins = signs * (scaled @ weights + intercept)
        slopes = -signs * expit(-margins)
        value = float(np.logaddexp(0, -margins).sum() + penalty / 2 * weights @ weights)
        return value, np.append(scaled.T @ slopes + penalty * weights, slopes.sum())

    options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B", options=options)
    return Regression(np.where(varies, found.x[:-1], 0.0), float(found.x[-1]), means, scales)
