"""Contenders that are not ours: the paper's own algorithm, pm.Metropolis, and hopsy's walks.

Every function returns a :class:`_contest.Contender` for one problem.
"""

from importlib.util import find_spec

import numpy as np
import pymc as pm
from _contest import Contender, Stretch, clock
from scipy import linalg

__all__ = ["hopsy_walks", "metropolis", "paper_kernel_gibbs", "plain_bounces"]


def paper_kernel_gibbs_step(alpha, gram, whitening, y, noise, rng):
    """One turn of the loop of KGS, section 3, in the paper's dual coordinates.

    A transcription of steps 2 to 8, vectorised with NumPy but not rearranged: the 2m angles are
    sorted and the training errors of every interval are counted afresh at its middle. Step 6
    is printed with half the difference of the angles (half the sum is meant); steps 6 and 8 with
    a minus before the sine, which only turns v round, but does not fit the angles of step 4.

    Parameters
    ----------
    alpha : array of shape (m,)
        Expansion of w in the training points.
    gram : array of shape (m, m)
    whitening : array of shape (m, r)
        Turns standard normal numbers into the expansion of an isotropic vector.
    y : array of shape (m,)
    noise : float
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (m,)
        Expansion of the next w.
    int
        Its training errors.
    """
    # Step 2: a unit vector v in the tangent space at w.
    nu = whitening @ rng.standard_normal(whitening.shape[1])
    w_outputs = gram @ alpha
    nu = nu - (nu @ w_outputs) * alpha
    v_outputs = gram @ nu
    length = np.sqrt(nu @ v_outputs)
    nu, v_outputs = nu / length, v_outputs / length
    # Step 3: hit points b_i = w + t_i v, normalised; <w, b_i> and <v, b_i> are all that is needed.
    along_v = -w_outputs / v_outputs
    along_w = 1.0 / np.sqrt(1.0 + along_v**2)
    along_v = along_v * along_w
    # Steps 4 and 5: angles of the hit points and their antipodes, in ascending order.
    first = np.sign(along_v) * np.arccos(along_w)
    angles = np.sort(np.concatenate([first, first + np.pi]) % (2 * np.pi))
    # Step 6: errors in the middle of every interval; the last one goes past 2 pi.
    ends = np.append(angles[1:], angles[0] + 2 * np.pi)
    middles = 0.5 * (angles + ends)
    outputs = np.outer(np.cos(middles), w_outputs) + np.outer(np.sin(middles), v_outputs)
    errors = np.count_nonzero(y * outputs <= 0, axis=1)
    # Step 7: an interval by its length and likelihood (3), then a place in it.
    likelihood = noise**errors * (1 - noise) ** (len(y) - errors)
    mass = np.cumsum((ends - angles) * likelihood)
    k = np.searchsorted(mass, rng.random() * mass[-1])
    angle = rng.uniform(angles[k], ends[k])
    # Step 8.
    alpha = np.cos(angle) * alpha + np.sin(angle) * nu
    return alpha / np.sqrt(alpha @ gram @ alpha), errors[k]


def paper_kernel_gibbs(problem, *, seconds, sweeps=1):
    """The Kernel Gibbs Sampler as the paper prints it, in NumPy."""
    factor = problem.feature_map.factor
    gram = factor.features @ factor.features.T
    whitening = np.zeros_like(factor.features)
    inverse = linalg.solve_triangular(factor.whitening, np.eye(factor.rank), lower=True)
    whitening[factor.support] = inverse.T
    y = np.where(problem.y > 0, 1, -1)

    def run(start, n_draws, rng):
        alpha = whitening @ (start / np.linalg.norm(start))
        draws = np.empty((n_draws, len(alpha)))
        errors = np.empty(n_draws)
        began = clock()
        for k in range(n_draws):
            for _ in range(sweeps):
                alpha, error = paper_kernel_gibbs_step(
                    alpha, gram, whitening, y, problem.noise, rng
                )
            draws[k] = alpha
            errors[k] = error
        took = clock() - began
        return Stretch(problem.outputs(draws @ factor.features), errors, took, n_draws * sweeps)

    return Contender("NumPy transcription", run, seconds, pilot=50)


def metropolis(problem, *, seconds, rng, tune=1500):
    """``pm.Metropolis`` on the model itself, with every advantage.

    The features are a constant of the compiled graph, it is tuned from a draw of the posterior
    before the contest, and its steps are called one after the other without ``pm.sample``'s loop.
    """
    model = problem.model()
    [value] = model.value_vars
    with model:
        step = pm.Metropolis(rng=rng)
    point = {value.name: problem.equilibrium_draws(1, rng)[0]}
    for _ in range(tune):
        point, _ = step.step(point)
    step.stop_tuning()

    def run(start, n_draws, rng):
        draws = np.empty((n_draws, len(start)))
        point = {value.name: start}
        began = clock()
        for k in range(n_draws):
            point, _ = step.step(point)
            draws[k] = point[value.name]
        took = clock() - began
        return Stretch(problem.outputs(draws), problem.errors(draws), took, n_draws)

    return Contender("pm.Metropolis", run, seconds, pilot=20, min_draws=50)


#: hopsy's walks that sample a Gaussian in a cone, and steps between two recorded draws. Left out:
#: CSmMALA and DikinWalk, which hardly moved in short trials (too little for an ESS), and the
#: billiard walks, which raise "bad any_cast" on this problem in hopsy 1.7.0.
HOPSY_SAME_TARGET = {
    "TruncatedGaussianProposal": 1,
    "GaussianCoordinateHitAndRunProposal": 100,
    "GaussianHitAndRunProposal": 100,
}

#: Those that only sample the uniform distribution on a polytope: the cone, cut off by a cube. The
#: draws are not of the posterior, which is no polytope, but they are what hopsy does fastest.
HOPSY_OTHER_TARGET = {
    "UniformCoordinateHitAndRunProposal": 100,
    "UniformHitAndRunProposal": 100,
}


def hopsy_walks(problem, *, seconds, start, rng, same_target=True):
    """Hopsy's walks on a version space, or an empty list where hopsy is not installed.

    Label noise is beyond hopsy: its targets are log-concave on one polytope. What it can represent
    is q = 0: a standard normal z in the cone where all labels are right. A step size is chosen for
    each walk that has one by the squared jumps of a pilot run.
    """
    if find_spec("hopsy") is None:
        return []
    import hopsy

    if problem.noise != 0:
        raise ValueError("hopsy can only sample the version space, noise = 0.")
    walls = problem.walls
    r = walls.dimension
    inwards = walls.normals * np.sign(walls.jumps)[:, None]
    if same_target:
        gaussian = hopsy.Gaussian(np.zeros(r), np.eye(r))
        polytope = hopsy.Problem(-inwards, np.zeros(walls.n_walls), gaussian)
    else:
        sides = np.concatenate([-inwards, np.eye(r), -np.eye(r)])
        polytope = hopsy.Problem(sides, np.append(np.zeros(walls.n_walls), np.ones(2 * r)))

    def make_chain(name, start):
        start = start if same_target else 0.5 * start / np.abs(start).max()
        proposal = getattr(hopsy, name)
        return hopsy.MarkovChain(polytope, proposal=proposal, starting_point=start)

    def contender(name, thinning, step_size):
        def run(start, n_draws, rng):
            chain = make_chain(name, start)
            if step_size is not None:
                chain.proposal.stepsize = step_size
            generator = hopsy.RandomNumberGenerator(int(rng.integers(2**31)))
            began = clock()
            _, [draws] = hopsy.sample(
                chain, generator, n_samples=n_draws, thinning=thinning, n_procs=1
            )
            took = clock() - began
            outputs = problem.outputs(draws)
            return Stretch(outputs, problem.errors(draws), took, n_draws * thinning)

        label = name.removesuffix("Proposal")
        return Contender(f"hopsy {label}", run, seconds, pilot=20, min_draws=50)

    def has_step_size(name):
        return getattr(make_chain(name, start).proposal, "stepsize", None) is not None

    contenders = []
    for name, thinning in (HOPSY_SAME_TARGET if same_target else HOPSY_OTHER_TARGET).items():
        sizes = [None]
        if has_step_size(name):
            sizes = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
        trials = [contender(name, thinning, size) for size in sizes]
        contenders.append(max(trials, key=lambda trial: _pilot_jump(trial, start, rng)))
    return contenders


def plain_bounces(gram, alpha, n_bounces, rng):
    """Bounces of BPM, Algorithm 2, as printed: all products with the Gram matrix computed anew.

    A transcription in NumPy: at every bounce the outputs of position and direction are matrix
    products of O(m^2). ``gram`` is that of unit vectors multiplied by their labels, ``alpha`` the
    expansion of a start inside.
    """
    gamma = alpha / np.sqrt(alpha @ gram @ alpha)
    beta = rng.standard_normal(len(gram))
    beta /= np.sqrt(beta @ gram @ beta)
    for _ in range(n_bounces):
        d, nu = gram @ gamma, gram @ beta
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where((nu < 0) & (d > 1e-12), -d / nu, np.inf)
        wall = np.argmin(times)
        gamma = gamma + times[wall] * beta
        gamma /= np.sqrt(gamma @ gram @ gamma)
        beta[wall] -= 2 * nu[wall]
        beta /= np.sqrt(beta @ gram @ beta)


def _pilot_jump(contender, start, rng):
    """Mean squared jump of the outputs per second: what a step size should maximise."""
    stretch = contender.run(start, 200, rng)
    return np.mean(np.diff(stretch.outputs, axis=0) ** 2) / stretch.seconds
