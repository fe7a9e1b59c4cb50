"""Evidence of sparse generalized kernel models by parallel tempering of their likelihood."""

import numpy as np

from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.result import Evidence
from bayeskernels.samplers import PowerTempering
from bayeskernels.samplers.tempering.tempered_model import read_target
from bayeskernels.specification.base import specification_or_none

__all__ = ["PowerEvidence"]

#: Arguments of the run; all other options are those of the ladder.
_RUN_OPTIONS = ("draws", "tune", "chains", "cores", "particles")


class PowerEvidence(EvidenceMethod):
    """Power tempering, see :class:`bayeskernels.samplers.PowerTempering`."""

    name = "power-tempering"

    def refusal(self, model, idata):
        """Why a model has no ladder of this kind."""
        specification = specification_or_none(model)
        if specification is None or self.name not in specification.evidence_methods:
            return (
                "It is for bk.models.generalized_kernel_model and bk.models.sparse_gp_classifier. "
                "Models with continuous variables have 'bridge'."
            )
        try:
            read_target(model)
        except TypeError as error:
            if specification.is_sparse:
                # What is said there of pm.sample concerns draws; here it is the evidence.
                return (
                    "It is for the probit link and a fixed kernel; for this model there is no "
                    "method yet. Widths can be compared one by one with bk.evidence.scan."
                )
            return f"{error} Dense models have 'bridge'."
        return None

    def run(self, model, idata=None, *, random_seed=None, progressbar=False, **options):
        """Run ladders; options are those of the class and of its method ``sample``."""
        run_options = {name: options.pop(name) for name in _RUN_OPTIONS if name in options}
        tempering = PowerTempering(model, **options)
        found = tempering.sample(random_seed=random_seed, progressbar=progressbar, **run_options)
        rounds = found.idata["tempering"].sizes
        diagnostics = {
            "path": found.path,
            "rungs": len(found.powers),
            "smallest_swap_rate": found.smallest_swap_rate,
            "round_trips": int(found.round_trips.sum()),
            "swap_rates": np.asarray(found.swap_rates),
            "powers": np.asarray(found.powers),
            "warning": found.warning,
        }
        return Evidence(
            found.log_evidence,
            found.mcse,
            self.name,
            n_evaluations=rounds["chain"] * rounds["draw"] * rounds["rung"],
            diagnostics=diagnostics,
        )
