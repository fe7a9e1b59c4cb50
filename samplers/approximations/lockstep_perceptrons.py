r"""Many kernel perceptrons that learn at the same time and share the rows of the Gram matrix.

The dual perceptron with permutation (Herbrich, Graepel and Campbell 2001, Algorithm 1) visits the
points in the order of a permutation; where its output :math:`o_i` has the wrong sign it adds
:math:`y_i` to :math:`\alpha_i` and :math:`y_i k(x_i, \cdot)` to all outputs, until a pass has no
mistake. (The printed algorithm updates :math:`\alpha_i` where it means :math:`\alpha_{\Pi(i)}`.)

What it costs are the rows :math:`k(x_i, \cdot)`. One row alone is a matrix-vector product, bound by
memory; a batch of rows is a matrix product, over ten times faster by row. So all perceptrons, of
all permutations and classes, go in rounds: each advances until it needs a row that is not there;
then all missing rows are computed as one product. Where few wait, the batch is filled up with rows
that they will need next if their outputs stay as they are. Rows are kept: the patterns that are
hard for one perceptron are hard for the others.

Outputs are sums of thousands of rows. They are kept in double precision even where the rows are
in single precision, so they do not drift: a perceptron that has finished is right at every point
as far as the stored kernel values go, and its margin says how much room rounding errors have.
"""

import contextlib
from dataclasses import dataclass
from functools import partial

import joblib
import numba
import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from bayeskernels.compiled import JIT
from bayeskernels.samplers.approximations.kernel_rows import MemoryPlan, RowCache, plan_memory

__all__ = ["LearnedPerceptrons", "Perceptron", "learn_perceptrons"]

FINISHED = -1
GAVE_UP = -2


@numba.njit(**JIT)
def _advance(order, signs, outputs, alpha, state, slot_of, rows, uses, max_passes):
    """Let one perceptron learn until it needs a row that is not there.

    ``state`` holds position, visits since the last mistake, completed passes, mistakes, and the
    pass of the last mistake. Returns the point whose row is missing, or that it has ended.
    """
    m = len(order)
    position, streak, passes, updates, last = state
    answer = FINISHED
    while streak < m:
        i = order[position]
        if signs[i] * outputs[i] > 0.0:
            streak += 1
        else:
            slot = slot_of[i]
            if slot < 0:
                answer = i
                break
            row = rows[slot]
            if signs[i] > 0:
                for j in range(m):
                    outputs[j] += row[j]
            else:
                for j in range(m):
                    outputs[j] -= row[j]
            alpha[i] += signs[i]
            uses[i] += 1
            updates += 1
            last = passes + 1
            streak = 0
        position += 1
        if position == m:
            position = 0
            passes += 1
            if passes == max_passes and streak < m:
                answer = GAVE_UP
                break
    state[0] = position
    state[1] = streak
    state[2] = passes
    state[3] = updates
    state[4] = last
    return answer


@numba.njit(**JIT)
def _look_ahead(order, position, signs, outputs, slot_of, found):
    """Points that come next, are wrong at present and have no row here; returns how many."""
    m = len(order)
    count = 0
    for step in range(m):
        i = order[(position + step) % m]
        if signs[i] * outputs[i] <= 0.0 and slot_of[i] < 0:
            found[count] = i
            count += 1
            if count == len(found):
                break
    return count


@numba.njit(**JIT)
def _count_errors(signs, outputs, counts):
    """Add one to the counts of all points at which a perceptron errs."""
    for i in range(len(counts)):
        if signs[i] * outputs[i] <= 0.0:
            counts[i] += 1


@dataclass(frozen=True)
class Perceptron:
    r"""What one perceptron has learnt.

    Attributes
    ----------
    points : array of int, shape (s,)
        The points it uses, in ascending order.
    alpha : array of int, shape (s,)
        Their expansion coefficients, none of them zero.
    norm : float
        Length of its weight vector, :math:`\|w\|^2 = \sum_i \alpha_i o_i`.
    margin : float
        Smallest :math:`y_i o_i / (\|w\| \|x_i\|)`; positive where all points are right.
    updates, passes : int
        Mistakes made, and passes until one was without any, that one included.
    """

    points: np.ndarray
    alpha: np.ndarray
    norm: float
    margin: float
    updates: int
    passes: int


@dataclass(frozen=True)
class LearnedPerceptrons:
    """Perceptrons of all permutations and classes.

    Attributes
    ----------
    perceptrons : list of list of Perceptron
        By permutation, then by class.
    rows_computed : int
        How many rows of the Gram matrix were computed, repetitions included.
    rounds : int
    plan : MemoryPlan
    """

    perceptrons: list
    rows_computed: int
    rounds: int
    plan: MemoryPlan


class _Learner:
    """A perceptron at work."""

    def __init__(self, which, order, signs):
        self.which = which
        self.order = order
        self.signs = signs
        self.outputs = np.zeros(len(order))
        self.alpha = np.zeros(len(order), dtype=np.int32)
        self.state = np.zeros(5, dtype=np.int64)
        self.answer = None

    def advance(self, cache, uses, max_passes):
        own = self.order, self.signs, self.outputs, self.alpha, self.state
        self.answer = _advance(*own, cache.slot_of, cache.rows, uses, max_passes)

    def look_ahead(self, cache, n):
        found = np.empty(n, dtype=np.int64)
        count = _look_ahead(
            self.order, self.state[0], self.signs, self.outputs, cache.slot_of, found
        )
        return found[:count]

    def wrong(self):
        return np.flatnonzero(self.signs * self.outputs <= 0.0)

    def result(self, diagonal):
        points = np.flatnonzero(self.alpha)
        alpha = self.alpha[points]
        norm = float(np.sqrt(alpha @ self.outputs[points]))
        margin = float((self.signs * self.outputs / np.sqrt(diagonal)).min() / norm)
        return Perceptron(points, alpha, norm, margin, int(self.state[3]), int(self.state[4]) + 1)


def learn_perceptrons(
    rows,
    signs,
    orders,
    *,
    memory_limit=2**32,
    jobs=1,
    max_passes=1000,
    class_names=None,
    progressbar=False,
) -> LearnedPerceptrons:
    """Learn a perceptron for every permutation and class, all in lock-step.

    Parameters
    ----------
    rows : KernelRows
    signs : array of int8, shape (K, m)
        Labels -1 and +1, a row by class; one row for two classes.
    orders : array of int, shape (L, m)
        Permutations of the points, each in its row.
    memory_limit, jobs, max_passes : int
        As for :meth:`bayeskernels.samplers.PermutationPerceptron.sample`; the limit in bytes.
    class_names : sequence, optional
        What to call the classes in an error.
    progressbar : bool

    Raises
    ------
    ValueError
        Where a perceptron has given up; the message names the points that are not separated.

    Examples
    --------
    >>> from bayeskernels.kernels.argument import as_kernel
    >>> from bayeskernels.samplers.approximations.kernel_rows import KernelRows
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> rows = KernelRows(as_kernel(lambda X, Z: X @ Z.T, X), X)
    >>> signs = np.array([[1, -1, 1]], dtype=np.int8)
    >>> learned = learn_perceptrons(rows, signs, np.array([[0, 1, 2], [2, 1, 0]]))
    >>> [(p.points.tolist(), p.alpha.tolist()) for [p] in learned.perceptrons]
    [([0, 1, 2], [1, -2, 1]), ([1, 2], [-3, 2])]
    """
    signs = np.ascontiguousarray(signs, dtype=np.int8)
    orders = np.ascontiguousarray(orders, dtype=np.int32)
    n_permutations, m = orders.shape
    n_classes = len(signs)
    plan = plan_memory(
        memory_limit,
        n_points=m,
        n_perceptrons=n_permutations * n_classes,
        held=rows.nbytes + orders.nbytes + signs.nbytes,
        itemsize=rows.dtype.itemsize,
    )
    cache = RowCache(plan.n_slots, m, rows.dtype)
    waiting = [(draw, k) for draw in range(n_permutations) for k in range(n_classes)][::-1]
    learned = [[None] * n_classes for _ in range(n_permutations)]
    uses = np.zeros((jobs, m), dtype=np.int64)
    active, rows_computed, rounds, mistakes_before = [], 0, 0, 0
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[mistakes]} mistakes"),
        TimeElapsedColumn(),
    ]
    with (
        _threads(jobs) as run,
        threadpool_limits(1, user_api="blas"),
        Progress(*columns, disable=not progressbar, transient=True) as progress,
    ):
        task = progress.add_task("Perceptrons", total=len(waiting), mistakes=0)
        while active or waiting:
            while waiting and len(active) < plan.n_active:
                draw, k = waiting.pop()
                active.append(_Learner((draw, k), orders[draw], signs[k]))
            run(
                (_advance_all, active[j::jobs], cache, uses[j], max_passes)
                for j in range(min(jobs, len(active)))
            )
            rounds += 1
            for learner in active:
                if learner.answer == GAVE_UP and len(wrong := learner.wrong()):
                    raise _not_separated(wrong, learner, class_names, max_passes)
                if learner.answer < 0:
                    draw, k = learner.which
                    learned[draw][k] = learner.result(rows.diagonal)
                    mistakes_before += learned[draw][k].updates
                    progress.advance(task)
            active = [learner for learner in active if learner.answer >= 0]
            mistakes = mistakes_before + sum(int(learner.state[3]) for learner in active)
            progress.update(task, mistakes=mistakes)
            if active:
                points = _points_to_compute(active, cache, plan)
                parts = np.array_split(points, min(jobs, len(points)) if rows.in_threads else 1)
                values = run((rows.compute, part) for part in parts)
                values = values[0] if len(values) == 1 else np.concatenate(values)
                cache.insert(points, values, partial(_demand, active, uses))
                rows_computed += len(points)
    return LearnedPerceptrons(learned, rows_computed, rounds, plan)


@contextlib.contextmanager
def _threads(jobs):
    """A function that runs calls, given as tuples of a function and its arguments, in threads."""
    if jobs == 1:
        yield lambda calls: [function(*arguments) for function, *arguments in calls]
        return
    with joblib.Parallel(n_jobs=jobs, backend="threading") as parallel:
        yield lambda calls: parallel(
            joblib.delayed(function)(*arguments) for function, *arguments in calls
        )


def _advance_all(learners, cache, uses, max_passes):
    for learner in learners:
        learner.advance(cache, uses, max_passes)


def _demand(active, uses):
    """By point, how many perceptrons err on it at present and how often its row was used."""
    wanted = np.zeros(uses.shape[1], dtype=np.int64)
    for learner in active:
        _count_errors(learner.signs, learner.outputs, wanted)
    return wanted, uses.sum(axis=0)


def _points_to_compute(active, cache, plan):
    """Points that the perceptrons wait for, then those that they may want next: one batch.

    Rows that are computed now are used at once, before others take their place. So some perceptron
    makes progress in every round, however small the cache is.
    """
    points = dict.fromkeys(learner.answer for learner in active)
    room = min(plan.batch_rows, plan.n_slots)
    if len(points) < room:
        ahead = [learner.look_ahead(cache, -(-room // len(points))) for learner in active]
        for depth in range(max(map(len, ahead))):
            points.update(dict.fromkeys(int(a[depth]) for a in ahead if depth < len(a)))
    return np.array(list(points)[:room], dtype=np.int64)


def _not_separated(wrong, learner, class_names, max_passes):
    shown = ", ".join(map(str, wrong[:10])) + (", ..." if len(wrong) > 10 else "")
    name = None if class_names is None else np.asarray(class_names)[learner.which[1]].item()
    of_class = "" if name is None else f" of class {name!r}"
    return ValueError(
        f"After {max_passes} passes the perceptron{of_class} still errs on {len(wrong)} of "
        f"{len(learner.order)} training points: {shown}. If no classifier in this feature space "
        "is right everywhere use softness > 0, bias > 0 or another kernel; if one is, raise "
        "max_passes."
    )
