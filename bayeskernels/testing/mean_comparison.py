"""Comparison of posterior means from Markov chains with what they should be."""

import arviz as az
import numpy as np
from scipy import stats

__all__ = ["MeanComparison"]

#: Fewer effective draws than this say nothing about a mean.
MIN_EFFECTIVE_DRAWS = 50


class MeanComparison:
    """Tests of means in units of their Monte Carlo standard errors.

    Parameters
    ----------
    report : SamplerReport
        Receives the deviations.
    false_alarm_rate : float
        Probability that one comparison fails by chance.
    """

    def __init__(self, report, false_alarm_rate):
        self.report = report
        self.limit = stats.norm.isf(false_alarm_rate / 2)

    def with_exact(self, posterior, exact_means):
        """Compare with exact means: a dict of names to functionals and their means."""
        for name, (functional, expected) in exact_means.items():
            mean, error, effective = mean_and_error(name, functional(posterior))
            verdict = self._judge(name, mean - expected, error, effective)
            if verdict:
                raise AssertionError(
                    f"expected {name} = {expected:.6g}; got {mean:.6g} +- {error:.2g}: {verdict}"
                )

    def with_reference(self, posterior, reference, functionals):
        """Compare with the means of other draws: a dict of names to functionals."""
        for name, functional in functionals.items():
            mean, error, effective = mean_and_error(name, functional(posterior))
            other, other_error, _ = mean_and_error(name, functional(reference))
            verdict = self._judge(name, mean - other, np.hypot(error, other_error), effective)
            if verdict:
                raise AssertionError(
                    f"expected {name} as from the reference, {other:.6g} +- {other_error:.2g}; "
                    f"got {mean:.6g} +- {error:.2g}: {verdict}"
                )

    def _judge(self, name, difference, error, effective):
        """What is wrong with a difference; empty if nothing is."""
        z = standard_score(difference, error)
        self.report.z_scores[name] = float(z)
        self.report.effective_draws[name] = float(effective)
        if abs(z) <= self.limit:
            return ""
        return f"{z:+.2f} standard errors apart, at most {self.limit:.2f} were expected"


def standard_score(difference, error):
    """A difference in standard errors; where there is no error, anything but zero is infinite."""
    if error > 0:
        return difference / error
    return 0.0 if np.isclose(difference, 0.0) else np.inf


def mean_and_error(name, values):
    """Mean of draws (dims chain, draw), its Monte Carlo standard error, effective draws."""
    if hasattr(values, "dims"):
        values = values.transpose("chain", "draw")
    values = np.asarray(values, dtype=float)
    if not np.isfinite(values).all():
        raise AssertionError(f"expected finite draws of {name}; some are not")
    if np.ptp(values) == 0:
        return float(values.flat[0]), 0.0, float(values.size)
    effective = float(az.ess(values, method="mean"))
    if effective < MIN_EFFECTIVE_DRAWS:
        raise AssertionError(
            f"expected at least {MIN_EFFECTIVE_DRAWS} effective draws of {name}; got "
            f"{effective:.0f} from {values.size}: the chains mix too slowly to compare, or need "
            "more draws"
        )
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(effective)), effective
