"""Bad values of every argument of every builder and tool: refused at once, by name.

Each entry is a value that cannot be right. What is asked of all: ``ValueError`` or ``TypeError``
from this package, a message that names the argument, no model left behind half built, and an answer
before anything is sampled or compiled.
"""

import re
import time
import traceback

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import sparse

import bayeskernels as bk

RNG = np.random.default_rng(0)
N = 16
X = RNG.standard_normal((N, 2))
Y = np.where(X[:, 0] > 0, "b", "a")
T = X[:, 0] + 0.1 * RNG.standard_normal(N)
M = bk.models

#: Seconds that a refusal may take. An idle machine takes a tenth; sampling would take far longer.
PATIENCE = 5.0


def spoilt(values, entry, dtype=object):
    """A copy with one bad entry."""
    values = np.array(values, dtype=dtype)
    values.flat[3] = entry
    return values


BAD_X = {
    "None": None,
    "a number": 1.0,
    "text": "X",
    "a dictionary": {"a": [1.0]},
    "one dimension": X[:, 0],
    "three dimensions": X[None],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "ragged": [[1.0], [1.0, 2.0]],
    "NaN": spoilt(X, np.nan, float),
    "infinite": spoilt(X, np.inf, float),
    "None inside": spoilt(X, None),
    "NA": spoilt(X, pd.NA),
    "numbers as text": X.astype(str),
    "text inside": spoilt(X, "1.0"),
    "complex": X + 0j,
    "dates": X.astype("datetime64[s]"),
    "time differences": X.astype("timedelta64[s]"),
    "masked": np.ma.array(X, mask=np.eye(N, 2)),
    "sparse": sparse.csr_array(X),
    "categories": pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(Y)}),
    "a column of text": pd.DataFrame({"a": X[:, 0], "b": Y}),
    "a missing number": pd.DataFrame({"a": X[:, 0], "b": pd.array([1, None] * 8, dtype="Int64")}),
}

BAD_Y = {
    "None": None,
    "a number": 1.0,
    "too short": Y[:-1],
    "too long": np.append(Y, "a"),
    "two columns": np.column_stack([Y, Y]),
    "ragged": [[0], [1, 2]] * 8,
    "masked": np.ma.array(X[:, 0] > 0, mask=np.arange(N) == 3),
    "NaN": spoilt(np.arange(N) % 2, np.nan, float),
    "infinite": spoilt(np.arange(N) % 2, np.inf, float),
    "None inside": spoilt(np.arange(N) % 2, None),
    "NA": spoilt(np.arange(N) % 2, pd.NA),
    "NaT": pd.Series([*pd.to_datetime(["2020-01-01", "2021-01-01"] * 7), pd.NaT, pd.NaT]),
    "complex": (np.arange(N) % 2) + 1j,
}

BAD_LABELS = BAD_Y | {
    "one class": np.ones(N),
    "NaN among text": [*Y[:-1], np.nan],
    "NaN as text": np.array([*Y[:-1], np.nan]),
    "mixed types": [*Y[:-1], 1],
    "missing category": pd.Series([*Y[:-1], None], dtype="category"),
    "dates": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"] * 8)),
}

BAD_TARGETS = BAD_Y | {"text": Y, "numbers as text": T.astype(str), "dates": T.astype("M8[s]")}

COV = pm.gp.cov
BAD_KERNELS = {
    "text": lambda: "rbf",
    "a number": lambda: 1.0,
    "a class": lambda: COV.ExpQuad,
    "length scale zero": lambda: COV.ExpQuad(2, ls=0.0),
    "length scale NaN": lambda: COV.ExpQuad(2, ls=np.nan),
    "too many length scales": lambda: COV.ExpQuad(2, ls=[1.0, 1.0, 1.0]),
    "other columns": lambda: COV.ExpQuad(3, ls=1.0),
    "no such column": lambda: COV.ExpQuad(2, ls=1.0, active_dims=[2]),
    "negative": lambda: -1.0 * COV.ExpQuad(2, ls=1.0),
    "indefinite": lambda: COV.ExpQuad(2, ls=1.0) + (-3.0) * COV.ExpQuad(2, ls=0.3),
    "NaN": lambda: np.nan * COV.ExpQuad(2, ls=1.0),
    "function of NaN": lambda: lambda A, B: np.full((len(A), len(B)), np.nan),
    "function of another shape": lambda: lambda A, B: np.ones(3),
    "complex function": lambda: lambda A, B: (A @ B.T) * 1j,
    "negative function": lambda: lambda A, B: -(A @ B.T),
    "function without symmetry": lambda: lambda A, B: A @ B.T + np.arange(len(B)),
    "matrix of NaN": lambda: np.full((N, N), np.nan),
    "matrix of text": lambda: np.full((N, N), "1"),
    "matrix of other points": lambda: np.eye(N - 1),
    "matrix of another shape": lambda: np.ones((N, N - 1)),
    "matrix without symmetry": lambda: np.triu(np.ones((N, N))),
    "negative matrix": lambda: -np.eye(N),
}

NO_NUMBER = ("text", [1.0], {}, 1j, np.nan)
NO_POSITIVE = (*NO_NUMBER, 0.0, -1.0, np.inf, True)
NO_COUNT = ("text", 1.5, 0, -1, True, np.nan)
NO_PRECISIONS = {"g": NO_POSITIVE, "eta": NO_POSITIVE}
GENERALIZED = NO_PRECISIONS | {
    "bias": (*NO_NUMBER, -1.0, np.inf),
    "max_active": (*NO_COUNT, N + 1),
    "inclusion": ("text", 1.0, (1.0,), (0.0, 1.0), (1.0, np.inf), (np.nan, 1.0)),
    "theta": ("text", 0.0, -1.0, np.nan, np.inf, True, [1.0, 1.0, 1.0]),
    "theta_bounds": ("text", 1.0, (1.0,), (2.0, 1.0), (0.0, 1.0), (1.0, np.inf)),
    "link": ("text", None, 1),
}
DIRECTIONS = {
    "bias": (*NO_NUMBER, -1.0, np.inf),
    "rank": NO_COUNT,
    "factorization": ("text", None, 1),
}
LINEAR = {"alpha": NO_POSITIVE, "basis": ("text", -1, 1.5, [1])}

#: Builder or tool, whether y holds labels, whether it takes a kernel, and bad values of the rest.
BUILDERS = {
    "label_noise_classifier": (
        M.label_noise_classifier,
        True,
        True,
        DIRECTIONS | {"noise": ("text", -0.1, 0.5, 1.0, np.nan, {}, (0.1,), (0.1, 0.7), 1j)},
    ),
    "bayes_point_machine": (
        M.bayes_point_machine,
        True,
        True,
        DIRECTIONS | {"softness": (*NO_NUMBER, -1.0, np.inf, True)},
    ),
    "generalized_kernel_model": (M.generalized_kernel_model, True, True, GENERALIZED),
    "generalized regression": (
        lambda X, y, **options: M.generalized_kernel_model(X, y, link="identity", **options),
        False,
        True,
        {name: values for name, values in GENERALIZED.items() if name != "link"}
        | {"noise": NO_POSITIVE},
    ),
    "sparse_gp_classifier": (M.sparse_gp_classifier, True, True, GENERALIZED),
    "bayesian_svm": (
        M.bayesian_svm,
        True,
        True,
        NO_PRECISIONS | {"bias": (*NO_NUMBER, -1.0), "complete": ("text", 1, None)},
    ),
    "gp_probit": (M.gp_probit, True, True, NO_PRECISIONS | {"inducing": NO_COUNT}),
    "gp_regression": (
        M.gp_regression,
        False,
        True,
        {
            "noise": NO_POSITIVE,
            "mean": (*NO_NUMBER, np.inf, True),
            "ard": ("text", None, 1),
            "inducing": (*NO_COUNT, X[:, :1], np.full((2, 2), np.nan)),
            "approximation": ("text", "VFE"),
        },
    ),
    "rbf_network": (
        M.rbf_network,
        False,
        False,
        {
            "alpha": NO_POSITIVE,
            "beta": NO_POSITIVE,
            "centers": (*NO_COUNT, N + 1, X[:, :1], np.full((2, 2), np.nan)),
            "width": NO_POSITIVE,
            "center_sd": NO_POSITIVE,
            "metric_sd": NO_POSITIVE,
            "adapt": ("text", None),
        },
    ),
    "fit_rbf_network": (
        bk.fit_rbf_network,
        False,
        False,
        {"centers": NO_COUNT, "width": NO_POSITIVE, "ridge": NO_POSITIVE, "method": ("text",)},
    ),
    "bayesian_linear_regression": (
        M.bayesian_linear_regression,
        False,
        False,
        LINEAR | {"beta": NO_POSITIVE},
    ),
    "logistic_regression": (M.logistic_regression, True, False, LINEAR),
    "PermutationPerceptron": (
        bk.samplers.PermutationPerceptron,
        True,
        True,
        {"bias": (*NO_NUMBER, -1.0), "softness": (*NO_NUMBER, -1.0), "dtype": ("int64", "text")},
    ),
}


def refusal(function, name, *args, **kwargs):
    """What is wrong with the way in which a call is refused, or None."""
    start = time.perf_counter()
    try:
        with pm.Model() as model:
            function(*args, **kwargs)
    except (TypeError, ValueError) as error:
        took = time.perf_counter() - start
        if not re.search(rf"\b{name}\b", str(error)):
            return f"does not name {name}: {error!r}"
        frames = traceback.extract_tb(error.__traceback__)
        if not any(part in frames[-1].filename for part in ("bayeskernels", "models", "samplers")):
            return f"comes from {frames[-1].filename}: {error!r}"
        if took > PATIENCE:
            return f"took {took:.1f} s: {error!r}"
        return f"leaves {list(model.named_vars)}" if model.named_vars else None
    except Exception as error:  # the point of the test
        return f"ends in {error!r}"
    return "is accepted"


def check(refusals):
    wrong = [f"{name}: {answer}" for name, answer in refusals if answer is not None]
    assert not wrong, "\n".join(wrong)


def good_y(is_label):
    return Y if is_label else T


@pytest.mark.parametrize("name", BUILDERS)
def test_inputs(name):
    build, is_label, _, _ = BUILDERS[name]
    check((case, refusal(build, "X", bad, good_y(is_label))) for case, bad in BAD_X.items())


@pytest.mark.parametrize("name", BUILDERS)
def test_labels_and_targets(name):
    build, is_label, _, _ = BUILDERS[name]
    table = BAD_LABELS if is_label else BAD_TARGETS
    check((case, refusal(build, "y", X, bad)) for case, bad in table.items())


@pytest.mark.parametrize("name", [name for name, entry in BUILDERS.items() if entry[2]])
def test_kernels(name):
    build, is_label, _, _ = BUILDERS[name]
    check(
        (case, refusal(build, "kernel", X, good_y(is_label), kernel=make()))
        for case, make in BAD_KERNELS.items()
    )


@pytest.mark.parametrize("name", BUILDERS)
def test_options(name):
    build, is_label, _, options = BUILDERS[name]
    check(
        (f"{option}={bad!r}", refusal(build, option, X, good_y(is_label), **{option: bad}))
        for option, values in options.items()
        for bad in values
    )


def test_options_of_a_learned_width():
    check(
        (
            f"bias={bad!r}",
            refusal(M.generalized_kernel_model, "bias", X, Y, theta="learn", bias=bad),
        )
        for bad in (*NO_NUMBER, -1.0)
    )


def test_gaussian_mean():
    bad_targets = {case: bad for case, bad in BAD_TARGETS.items() if not case.startswith("too")}
    check((case, refusal(M.gaussian_mean, "x", bad)) for case, bad in bad_targets.items())
    for option in ("sd", "prior_sd"):
        check(
            (f"{option}={bad!r}", refusal(M.gaussian_mean, option, T, **{option: bad}))
            for bad in NO_POSITIVE
        )


@pytest.fixture(scope="module")
def classifier():
    model = M.label_noise_classifier(X, Y, noise=0.1)
    return model, bk.samplers.sample_directions(model, draws=20, chains=1, random_seed=1)


def test_new_inputs(classifier):
    model, idata = classifier
    process = M.gp_regression(X, T, kernel=COV.ExpQuad(2, ls=1.0), noise=0.1)
    linear = M.bayesian_linear_regression(X, T, alpha=1.0, beta=1.0)
    more = {"another number of columns": X[:, :1]}
    for case, bad in (BAD_X | more).items():
        check(
            [
                (case, refusal(bk.predict, "X_new", model, idata, bad)),
                (case, refusal(bk.predict, "X_new", process, None, bad)),
                (case, refusal(bk.predict, "X_new", linear, None, bad)),
            ]
        )
        if case != "None":
            check([(case, refusal(bk.diagnostics.monitor, "X(_new)?", model, idata, bad))])
    for case, bad in BAD_TARGETS.items():
        check([(case, refusal(bk.gp.log_predictive_density, "y_new", process, None, X, bad))])


def test_active_learning():
    def learn(**changes):
        given = {"X_test": X, "y_test": Y, "n_queries": 2, "progressbar": False} | changes
        bk.active_learning.learn_actively(
            X, Y, build=lambda X, y: M.label_noise_classifier(X, y, noise=0.1), **given
        )

    check((case, refusal(learn, "X_test", X_test=bad)) for case, bad in BAD_X.items())
    # One class is enough to test with.
    bad_labels = {case: bad for case, bad in BAD_LABELS.items() if case != "one class"}
    bad_labels["another coding"] = (Y == "b").astype(int)
    check((case, refusal(learn, "y_test", y_test=bad)) for case, bad in bad_labels.items())


def test_true_labels(classifier):
    prediction = bk.predict(*classifier, X)
    bad_labels = {case: bad for case, bad in BAD_LABELS.items() if case != "one class"}
    bad_labels["another coding"] = (Y == "b").astype(int)
    for case, bad in bad_labels.items():
        check([(case, refusal(bk.rejection_curve, "y_true", prediction, bad))])
