r"""Prediction from the draws of a classifier (KGS, section 4).

*Bayesian transduction* lets the drawn classifiers vote on a new point (KGS, equation (4)); the
share of the majority says how sure they are. The *Bayes point* (5) is the mean direction: one
classifier that approximates the vote.

The drawn classifiers lie in the span of the training points. That suffices for the Bayes point
(BPM, Theorem 12), but far from all data their vote is surer than the posterior is: there the part
of a classifier outside the span decides, of which the labels say nothing. The posterior predictive
probability integrates over this part (:mod:`bayeskernels.kernels.beyond_span`) and over the noise
of the new label itself.

More than two classes are told apart one against the rest (BPM, section 4.3): the class with the
largest mean output wins, a draw votes for the class with its largest output.
"""

import numpy as np

from bayeskernels.inputs import as_new_inputs
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.draws import read_draws

__all__ = ["column_names", "new_inputs", "predict"]


def predict(model, idata, X_new=None, *, beyond_span=True, diagonal=None, progressbar=True):
    """Predict the classes, or the targets, of new points by Bayesian model averaging.

    Parameters
    ----------
    model : pm.Model or PermutationPerceptron
        Made by a builder of :mod:`bayeskernels.models`, or an ensemble.
    idata : DataTree or Dataset
        Its posterior draws, from ``pm.sample``: all that it returned, the posterior alone, one
        chain of it, or samples stacked by ``az.extract``. None where nothing is random, or the rest
        is known in closed form. Of a Laplace approximation or a grid: draws of it, ``.sample()``.
        For a Gaussian process also the result of :func:`bayeskernels.gp.maximise_evidence`.
    X_new : array_like of shape (n, p)
        New inputs. For a precomputed kernel: kernel values with all m training points, (n, m). A
        model without inputs takes none.
    beyond_span : bool, default True
        Whether probabilities of classifiers account for the part of the function that the training
        points do not determine. False restricts functions to the span of the training points, as
        the papers do, and as ``pm.set_data`` with ``pm.sample_posterior_predictive`` does: far from
        the data it is too sure.
    diagonal : array_like of shape (n,), optional
        For a precomputed kernel: kernel values of the new points with themselves. Without them
        functions are restricted to the span.
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    xarray.Dataset
        With the dims ``obs_new`` and ``class``:

        ``probability``
            Posterior predictive probability that the label reads so: averaged over draws, flips
            included, and with the part of the function beyond the span.
        ``label``
            The more probable class of the point itself, flips aside; of more than two classes told
            apart one against the rest the one with the largest mean output.
        ``vote``
            Share of the drawn classifiers, all in the span, that vote for a class (KGS, equation
            (4)). It knows nothing of flips and of what lies beyond the span. Where the outputs of
            classes are equal, they have equal parts of a vote.
        ``entropy``
            Of the votes, in bits (KGS prints it without its minus sign).
        ``latent``
            Mean output, in label-noise classifiers and Bayes point machines that of unit-length
            classifiers; by class where there are more than two. The part beyond the span has mean
            zero.
        ``latent_sd``
            In models with a smooth likelihood: standard deviation of the output, the part beyond
            the span included.
        ``margin``
            Size of the winning mean output divided by the square root of k(x, x), the number by
            which to reject; not divided where the kernel is random, or a Gram matrix without
            ``diagonal``.

        The attribute ``beyond_span`` is 1 where that part is in it, 0 where not: on request, or
        since there is none. Kernel expansions in active points (generalized kernel models,
        ``sparse_gp_classifier``) and linear models have none by definition. Ensembles of
        perceptrons that are expanded in training points are no posterior draws; of them
        ``probability`` is the vote.

        A regression has ``mean`` and ``sd`` of a new target, noise included, and ``latent_sd`` of
        the function without noise, instead of all these.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> with model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> bk.predict(model, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
    [-1, 1]
    """
    if not isinstance(beyond_span, bool | np.bool_):
        raise TypeError(f"beyond_span must be True or False, got {beyond_span!r}.")
    specification = specification_of(model)
    idata = read_draws(model, idata)
    X_new = new_inputs(X_new, specification, column_names(model))
    return specification.predictive(
        idata, X_new, beyond_span=beyond_span, diagonal=diagonal, progressbar=progressbar
    )


def column_names(model):
    """Names of the columns with which a model was trained, None where they are only numbered."""
    names = getattr(model, "coords", {}).get("feature")
    if names is None or list(names) == [str(k) for k in range(len(names))]:
        return None
    return tuple(names)


def new_inputs(X_new, specification, columns):
    """New inputs; a DataFrame must have the columns of training in the same order.

    None where the model has no inputs.
    """
    if specification.training is None:
        if X_new is not None:
            raise ValueError(
                f"A {specification.kind} has no inputs: leave X_new out. The prediction is that of "
                "the next observation."
            )
        return None
    values = as_new_inputs(X_new, specification.X.shape[1])
    if columns is not None and hasattr(X_new, "columns"):
        given = tuple(str(c) for c in X_new.columns)
        if given != columns:
            remedy = "Reorder" if set(columns) <= set(given) else "Rename"
            raise ValueError(
                f"The columns of X_new are {list(given)}, the model was trained with "
                f"{list(columns)}. {remedy} them."
            )
    return values
