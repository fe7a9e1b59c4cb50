"""Every step of the library on a small model, and everything else that makes draws."""

import numpy as np
import pymc as pm

import bayeskernels as bk
from bayeskernels.samplers import (
    Billiard,
    FlipRateGibbs,
    IndependenceMetropolis,
    KernelGibbs,
    LaplaceMixture,
    RefractiveBilliard,
    ReversibleJump,
)
from bayeskernels.testing.step_chain import StepChain

X = np.random.default_rng(3).standard_normal((37, 2))
TARGETS = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]
LABELS = TARGETS > 0.1
THREE = np.digitize(TARGETS, [-0.5, 0.5])
QUIET = {"random_seed": 1, "progressbar": False}
KERNEL = pm.gp.cov.ExpQuad(2, ls=0.7)

label_noise = bk.models.label_noise_classifier
generalized = bk.models.generalized_kernel_model


def active(step=None, observed=LABELS, **options):
    return lambda: (
        generalized(X, observed, max_active=20, **options),
        lambda: ReversibleJump(**(step or {})),
    )


def directions(step, **options):
    return lambda: (label_noise(X, LABELS, kernel=KERNEL, **options), step)


def moved_walls():
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        label_noise(X, LABELS, kernel=pm.gp.cov.ExpQuad(2, ls=ls), noise=0.1)
    return model, RefractiveBilliard


def two_modes():
    with pm.Model() as model:
        pm.NormalMixture("x", w=[0.3, 0.7], mu=[-3.0, 3.0], sigma=[0.5, 1.0], shape=2)
    mixture = LaplaceMixture([[-3.0, 3.0], [3.0, 3.0]], [np.eye(2)] * 2, np.zeros(2))
    return model, lambda: IndependenceMetropolis(mixture)


#: Builders of a model and of the step for it.
STEPS = {
    "refractive": directions(RefractiveBilliard, noise=0.1),
    "refractive, inferred noise": directions(RefractiveBilliard, noise="infer"),
    "refractive, ladder": directions(lambda: RefractiveBilliard(tempering=True), noise=0.1),
    "refractive, version space": directions(RefractiveBilliard, noise=0.0),
    "kernel gibbs": directions(KernelGibbs, noise=0.1),
    "billiard": directions(Billiard, noise=0.0),
    "chord billiard": directions(lambda: Billiard(variant="chord"), noise=0.0),
    "flip rate": directions(FlipRateGibbs, noise="infer"),
    "probit": active(),
    "probit, start": active({"start_active": 10}),
    "logistic": active(link="logistic"),
    "identity": active(observed=TARGETS, link="identity"),
    "dense": active(sparse=False),
    "slice widths": active(theta="learn"),
    "random walk of widths": active({"kernel_move": "random_walk"}, theta="learn"),
    "sparse process": lambda: (
        bk.models.sparse_gp_classifier(X, LABELS, max_active=20),
        ReversibleJump,
    ),
    "windows": active({"windows": 3}),
    "fixed noise": active(observed=TARGETS, link="identity", noise=0.3),
    "classes": lambda: (generalized(X, THREE, max_active=12), ReversibleJump),
    "kernels": lambda: (
        generalized(X, LABELS, max_active=12, kernel={"a": KERNEL, "b": pm.gp.cov.Linear(2, 0.0)}),
        ReversibleJump,
    ),
    "classes and kernels": lambda: (
        generalized(X, THREE, max_active=8, kernel={"a": KERNEL, "b": pm.gp.cov.Linear(2, 0.0)}),
        ReversibleJump,
    ),
}

#: These compile graphs of PyTensor.
COMPILED_STEPS = {"moved walls": moved_walls, "independence": two_modes}


def beside(step):
    """Draws of a compound with a step of PyMC's own, for the width of the kernel."""
    with pm.Model():
        ell = pm.LogNormal("ell", 0.0, 0.5)
        generalized(X, LABELS, max_active=10, kernel=pm.gp.cov.Matern52(2, ls=ell))
        own = step([ell])
        return pm.sample(20, tune=20, chains=1, step=own, quiet=True, **QUIET).posterior


#: What makes its draws by itself.
CALLS = {
    "slice sampler beside a step": lambda: beside(pm.Slice),
    "nuts beside a step": lambda: beside(pm.NUTS),
    "power tempering": lambda: (
        bk.samplers.PowerTempering(generalized(X, LABELS, max_active=6))
        .sample(20, tune=20, chains=1, **QUIET)
        .idata.posterior
    ),
    "noise ladder": lambda: (
        bk.evidence.estimate(
            label_noise(X, LABELS, kernel=KERNEL, noise=0.1), method="tempering", **QUIET
        ).log_evidence
    ),
    "directions": lambda: (
        bk.samplers.sample_directions(
            label_noise(X, LABELS, kernel=KERNEL, noise=0.1), draws=50, chains=1, random_seed=1
        ).posterior
    ),
    "perceptrons": lambda: (
        bk.samplers.PermutationPerceptron(X, LABELS, kernel=KERNEL)
        .sample(permutations=20, **QUIET)
        .posterior
    ),
    "expectation propagation": lambda: (
        bk.samplers.ExpectationPropagation(label_noise(X, LABELS, kernel=KERNEL, noise=0.1))
        .fit()
        .sample(10, random_seed=1)
        .posterior
    ),
    "hyperparameters": lambda: (
        bk.gp.sample_hyperparameters(
            bk.models.gp_regression(X, TARGETS), draws=20, tune=20, chains=1, cores=1, **QUIET
        ).posterior
    ),
}


def chain_of(name, n_steps=36):
    # Longer than the cycle after which columns are rebuilt.
    model, step = (STEPS | COMPILED_STEPS)[name]()
    return StepChain(step, model, None, move_walls if name == "moved walls" else None, n_steps)


def move_walls(point, k):
    return point | {"ls_log__": np.asarray(0.2 * np.sin(k // 3))}


def plain(result):
    """Bytes by name of a result of :data:`CALLS`, or a number."""
    if isinstance(result, float):
        return result
    return {name: values.values.tobytes() for name, values in result.data_vars.items()}
