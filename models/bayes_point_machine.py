r"""The Bayes point machine (BPM): a kernel classifier that makes no training error.

Under the PAC likelihood (Herbrich, Graepel and Campbell 2001, Definition 6) a label has probability
one where the classifier agrees with it and zero where not, so the posterior of the direction w is
uniform on the *version space*, the part of the sphere on which all training points are right. Its
centre of mass is the Bayes point: the one classifier that comes closest to the vote of them all.

Where classes overlap, soft boundaries (section 3.3) let the walls of version space be entered: the
kernel value of each training point with itself counts :math:`1 + \lambda` times (27).
"""

from bayeskernels.inputs import as_classes
from bayeskernels.kernels.argument import read_inputs
from bayeskernels.models.parts.hyperparameter import NOT_NEGATIVE, Hyperparameter
from bayeskernels.models.parts.kernel_classifier import build_kernel_classifier

__all__ = ["bayes_point_machine"]


def bayes_point_machine(
    X, y, *, kernel=None, softness=0.0, bias=0.0, rank=None, factorization="cholesky"
):
    r"""Bayes point machine: all classifiers that are right on the training points, equally likely.

    Parameters
    ----------
    X, kernel, rank, factorization
        As for :func:`bayeskernels.models.label_noise_classifier`.
    y : array_like of shape (m,)
        Labels of two or more classes, of any type. Of two, the second in sorted order is the
        positive class; more are told apart one against the rest (section 4.3).
    softness : float or prior, default 0
        The :math:`\lambda` of soft boundaries; 0 allows no training error. A PyMC prior on positive
        numbers makes it part of the posterior; it mixes slowly then, so watch its R-hat.
    bias : float, default 0
        Constant added to the kernel, which gives the classifier an offset. The paper has none.
        Whether it helps depends on the data: with 1 the test error falls from 10.7 to 5.7% on
        ionosphere, and changes by less than half a point on six other sets (``bayeskernels
        reproduce bpm-table-1``).

    Returns
    -------
    pm.Model
        With the direction ``w`` (dim ``basis``; dims ``class`` and ``basis`` for more than two
        classes), ``softness`` where it is random, the observed labels ``y``, and the inputs ``X``
        as data. Every chain starts at a classifier without errors.

    Raises
    ------
    ValueError
        If no classifier is right everywhere; the message names points that stand in the way.

    Notes
    -----
    ``pm.sample`` takes :class:`~bayeskernels.samplers.RefractiveBilliard`, which at noise zero is a
    billiard in version space; the paper's own is :class:`~bayeskernels.samplers.Billiard`. For
    data sets beyond some thousand points see
    :class:`~bayeskernels.samplers.PermutationPerceptron`.

    References
    ----------
    .. [1] R. Herbrich, T. Graepel and C. Campbell, "Bayes Point Machines", JMLR 1:245-279, 2001.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(40, scatter=0.1, random_seed=1)
    >>> with bk.models.bayes_point_machine(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5)) as model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> bk.bayes_point(model, idata).predict([[0.0, 1.0], [1.0, -0.5]]).tolist()
    [-1, 1]
    """
    X, columns, kernel = read_inputs(X, kernel, bias)
    classes = as_classes(y, len(X))
    softness = Hyperparameter("softness", softness, NOT_NEGATIVE)
    remedies = ["softness > 0" if softness.number == 0.0 else "a larger softness"]
    remedies += ["a larger rank"] if rank is not None else ["a kernel that tells them apart"]
    if len(classes.names) == 2:
        remedies.append("bayeskernels.models.label_noise_classifier, which allows wrong labels")
    return build_kernel_classifier(
        "bayes_point_machine",
        X,
        columns,
        classes,
        kernel,
        add_rates=lambda: ((0.0, 0.0), (0.0, 0.0), 0.0),
        rank=rank,
        factorization=factorization,
        softness=softness if softness.is_variable else softness.number,
        remedy=f"The version space is empty. Use {' or '.join(remedies)}.",
    )
