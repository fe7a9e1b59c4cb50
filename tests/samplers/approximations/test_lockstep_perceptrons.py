"""Perceptrons in lock-step against a plain transcription of the algorithm, and their memory."""

import numpy as np
import pymc as pm
import pytest

from bayeskernels.kernels.argument import as_kernel
from bayeskernels.samplers.approximations import lockstep_perceptrons
from bayeskernels.samplers.approximations.kernel_rows import KernelRows, RowCache, plan_memory
from bayeskernels.samplers.approximations.lockstep_perceptrons import learn_perceptrons


def algorithm_1(gram, y, order):
    """Algorithm 1 line by line, with the index of alpha mended."""
    m = len(y)
    alpha, o = np.zeros(m), np.zeros(m)
    updates, passes = 0, 0
    while True:
        mistaken = False
        for i in order:
            if y[i] * o[i] <= 0:
                alpha[i] += y[i]
                for j in range(m):
                    o[j] += y[i] * gram[i, j]
                mistaken = True
                updates += 1
        passes += 1
        if not mistaken:
            return alpha, updates, passes


def polynomial(X, Z):
    return (X @ Z.T + 1) ** 3


def make_problem(seed=0, m=60, n_classes=3, n_permutations=4):
    rng = np.random.default_rng(seed)
    # Small whole numbers: kernel values and their sums are exact in both precisions.
    X = rng.integers(-4, 5, size=(m, 6)).astype(float)
    codes = (X @ rng.standard_normal((6, n_classes))).argmax(axis=1)
    signs = np.where(codes == np.arange(n_classes)[:, None], 1, -1).astype(np.int8)
    orders = np.stack([rng.permutation(m) for _ in range(n_permutations)])
    return X, signs, orders


def dense(perceptron, m):
    alpha = np.zeros(m)
    alpha[perceptron.points] = perceptron.alpha
    return alpha


def learn(X, signs, orders, *, kernel=polynomial, dtype="float64", softness=0.0, **options):
    rows = KernelRows(as_kernel(kernel, X), X, dtype=dtype, softness=softness)
    return learn_perceptrons(rows, signs, orders, **options)


def coefficients(learned, m):
    return np.array([[dense(p, m) for p in by_class] for by_class in learned.perceptrons])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("softness", [0.0, 0.25])
def test_agrees_with_the_printed_algorithm(dtype, softness):
    X, signs, orders = make_problem()
    gram = polynomial(X, X)
    gram[np.diag_indices_from(gram)] *= 1 + softness
    learned = learn(X, signs, orders, dtype=dtype, softness=softness)
    for order, by_class in zip(orders, learned.perceptrons, strict=True):
        for y, perceptron in zip(signs, by_class, strict=True):
            alpha, updates, passes = algorithm_1(gram, y, order)
            assert np.array_equal(dense(perceptron, len(X)), alpha)
            assert (perceptron.updates, perceptron.passes) == (updates, passes)
            outputs = gram @ alpha
            assert np.isclose(perceptron.norm, np.sqrt(alpha @ outputs))
            margin = (y * outputs / np.sqrt(np.diag(gram))).min() / perceptron.norm
            assert np.isclose(perceptron.margin, margin)
            assert margin > 0


@pytest.mark.parametrize("kernel", [polynomial, pm.gp.cov.ExpQuad(6, ls=5.0)])
def test_a_small_cache_changes_nothing_but_the_work(kernel):
    X, signs, orders = make_problem(1, m=150)
    orders = np.concatenate([orders, orders[:, ::-1]])
    options = {"kernel": kernel, "dtype": "float32"}
    large = learn(X, signs, orders, **options)
    m = len(X)
    assert large.plan.n_slots == m
    assert large.rows_computed <= m
    held = X.nbytes + 4 * orders.size + signs.nbytes
    small = learn(X, signs, orders, memory_limit=held + m * 300, **options)
    assert small.plan.n_slots < m / 2
    assert small.plan.n_active < 24
    assert small.rows_computed > large.rows_computed
    assert np.array_equal(coefficients(small, m), coefficients(large, m))


def test_the_smallest_memory_that_is_accepted_suffices():
    X, signs, orders = make_problem(2)
    m = len(X)
    smallest = X.nbytes + 4 * orders.size + signs.nbytes + m * (12 + 2 * (8 + 32))
    learned = learn(X, signs, orders, memory_limit=smallest)
    assert learned.plan.n_slots <= 2
    assert np.array_equal(coefficients(learned, m), coefficients(learn(X, signs, orders), m))
    with pytest.raises(ValueError, match="too small for 60 points"):
        learn(X, signs, orders, memory_limit=smallest - 1)


@pytest.mark.parametrize("limit", [2**22, 2**25, 2**28, 2**31])
def test_plans_keep_the_limit_and_use_it(limit):
    plan = plan_memory(limit, n_points=10_000, n_perceptrons=50, held=2**20, itemsize=4)
    parts = plan.n_active * 12 + plan.batch_rows * 32 + plan.n_slots * 4
    assert plan.nbytes == 2**20 + 10_000 * parts <= limit
    assert plan.n_slots == 10_000 or plan.nbytes > limit - 40_000


def test_what_is_allocated_is_what_was_planned(monkeypatch):
    X, signs, orders = make_problem(3, m=120)
    made, largest = [], []

    class Watched(RowCache):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

        def insert(self, points, rows, demand):
            largest.append(len(points))
            super().insert(points, rows, demand)
            held = np.flatnonzero(self.slot_of >= 0)
            assert len(np.unique(self.slot_of[held])) == len(held) <= len(self.rows)
            gram = polynomial(X, X)
            assert np.array_equal(self.rows[self.slot_of[held]], gram[held])

    monkeypatch.setattr(lockstep_perceptrons, "RowCache", Watched)
    held = X.nbytes + 4 * orders.size + signs.nbytes
    learned = learn(X, signs, orders, memory_limit=held + 120 * 400)
    [cache] = made
    assert cache.rows.nbytes == learned.plan.n_slots * 120 * 8
    assert max(largest) <= learned.plan.batch_rows
    assert sum(largest) == learned.rows_computed


def test_rows_that_are_wanted_stay():
    cache = RowCache(3, 6, np.float64)
    wanted, uses = np.array([0, 2, 0, 0, 0, 0]), np.array([3, 0, 1, 0, 0, 0])
    gram = np.arange(36.0).reshape(6, 6)
    cache.insert([0, 1, 2], gram[:3], None)
    cache.insert([3], gram[3:4], lambda: (wanted, uses))
    assert (cache.slot_of >= 0).tolist() == [True, True, False, True, False, False]
    cache.insert([4, 5], gram[4:], lambda: (wanted, uses))
    assert (cache.slot_of >= 0).tolist() == [False, True, False, False, True, True]
    assert np.array_equal(cache.rows[cache.slot_of[[1, 4, 5]]], gram[[1, 4, 5]])


@pytest.mark.parametrize("kernel", [polynomial, pm.gp.cov.ExpQuad(6, ls=5.0)])
def test_threads_change_nothing(kernel):
    X, signs, orders = make_problem(4, m=150)
    one, two = (
        learn(X, signs, orders, kernel=kernel, dtype="float32", jobs=jobs, memory_limit=200_000)
        for jobs in (1, 2)
    )
    assert np.array_equal(coefficients(one, 150), coefficients(two, 150))
    assert one.rows_computed == two.rows_computed
    assert one.rounds == two.rounds


def test_rows_of_a_batch_are_computed_by_one_call():
    X, signs, orders = make_problem(5, m=100)
    sizes = []

    def kernel(X, Z):
        sizes.append((len(X), len(Z)))
        return polynomial(X, Z)

    learned = learn(X, signs, orders, kernel=kernel)
    products = [rows for rows, columns in sizes if columns == 100]
    assert len(products) <= learned.rounds
    assert np.mean(products) > 12  # of twelve perceptrons


def test_points_that_cannot_be_separated_are_named():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    signs = np.array([[1, 1, -1, 1]], dtype=np.int8)
    with pytest.raises(ValueError, match=r"After 50 passes .* still errs on \d of 4 .*softness"):
        learn(X, signs, [[0, 1, 2, 3]], kernel=lambda X, Z: X @ Z.T + 1, max_passes=50)
    with pytest.raises(ValueError, match="of class 'b'"):
        learn(
            X,
            np.concatenate([-signs * 0 + [[1, 1, 1, -1]], signs]),
            [[0, 1, 2, 3]],
            kernel=lambda X, Z: X @ Z.T + 1,
            max_passes=500,
            class_names=["a", "b"],
        )
    soft = learn(
        X, signs, [[0, 1, 2, 3]], kernel=lambda X, Z: X @ Z.T + 1, softness=2.0, max_passes=500
    )
    assert soft.perceptrons[0][0].margin > 0


def test_no_more_passes_than_needed_are_asked_for():
    X, signs, orders = make_problem(6)
    learned = learn(X, signs[:1], orders[:1])
    needed = learned.perceptrons[0][0].passes - 1  # the last is without mistakes
    again = learn(X, signs[:1], orders[:1], max_passes=needed)
    assert np.array_equal(coefficients(again, 60), coefficients(learned, 60))
    with pytest.raises(ValueError, match="still errs"):
        learn(X, signs[:1], orders[:1], max_passes=needed - 1)


def test_single_precision_does_not_drift():
    def cubic(X, Z):
        inner = X @ Z.T + 1  # exact, so that rows are the same in any batch
        return inner * inner * inner

    rng = np.random.default_rng(7)
    X = rng.integers(-30, 31, size=(200, 8)).astype(float)
    signs = np.where(rng.random((1, 200)) < 0.5, 1, -1)
    rows = KernelRows(as_kernel(cubic, X), X, dtype="float32")
    [[perceptron]] = learn_perceptrons(rows, signs, rng.permutation(200)[None]).perceptrons
    assert perceptron.updates > 300
    outputs = perceptron.alpha @ rows.compute(perceptron.points).astype(np.float64)
    margin = (signs[0] * outputs / np.sqrt(rows.diagonal)).min() / perceptron.norm
    assert margin > 0
    assert np.isclose(perceptron.margin, margin, rtol=1e-8)


def test_white_noise_is_on_the_diagonal_only():
    X = np.array([[0.0], [0.0], [1.0]])
    kernel = pm.gp.cov.ExpQuad(1, ls=1.0) + pm.gp.cov.WhiteNoise(0.5)
    rows = KernelRows(as_kernel(kernel, X), X)
    assert np.allclose(rows.compute([1, 0])[:, :2], [[1.0, 1.25], [1.25, 1.0]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_all_kinds_of_kernels(dtype):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(7, 3))
    gram = X @ X.T + 0.5
    linear = pm.gp.cov.Linear(3, c=0.0)
    for kernel in (lambda X, Z: X @ Z.T, linear, X @ X.T):
        rows = KernelRows(as_kernel(kernel, X, bias=0.5), X, dtype=dtype, softness=0.5)
        values = rows.compute([4])
        expected = gram[4] * np.where(np.arange(7) == 4, 1.5, 1.0)
        assert values.dtype == dtype
        assert np.allclose(values[0], expected, rtol=1e-5, atol=1e-6)


def test_single_precision_reaches_the_function():
    types = set()

    def kernel(X, Z):
        types.update([X.dtype, Z.dtype])
        return polynomial(X, Z)

    X, signs, orders = make_problem(9)
    learn(X, signs, orders, kernel=kernel, dtype="float32")
    assert types == {np.dtype("float32")}


def test_bad_kernels_are_refused():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="must have the shape"):
        KernelRows(as_kernel(lambda X, Z: X, X), X)
    with pytest.raises(ValueError, match=r"Point 1 has a zero feature vector"):
        KernelRows(as_kernel(lambda X, Z: X @ Z.T, X), np.diag([1.0, 0.0, 1.0]))
    # The diagonal is fine, only a value between two points is not.
    rows = KernelRows(
        as_kernel(lambda X, Z: np.where(X @ Z.T > 1.5, 1.0, np.inf), X), 2 * np.eye(3)
    )
    with pytest.raises(ValueError, match="not finite"):
        rows.compute([0])
    with pm.Model():
        length = pm.HalfNormal("length")
        kernel = as_kernel(pm.gp.cov.ExpQuad(2, ls=length), X)
    with pytest.raises(TypeError, match="random hyperparameters"):
        KernelRows(kernel, X)


def test_progress_counts_perceptrons_and_mistakes(monkeypatch):
    seen = []

    class Watched(lockstep_perceptrons.Progress):
        def stop(self):
            seen.append((self.disable, self.tasks[0]))
            super().stop()

    monkeypatch.setattr(lockstep_perceptrons, "Progress", Watched)
    X, signs, orders = make_problem()
    learned = learn(X, signs, orders, progressbar=True)
    learn(X, signs, orders, progressbar=False)
    [(hidden, task), (hidden_then, _)] = seen
    assert not hidden
    assert hidden_then
    assert task.completed == task.total == 12
    updates = sum(p.updates for by_class in learned.perceptrons for p in by_class)
    assert task.fields["mistakes"] == updates


def test_rows_are_not_computed_in_vain():
    """Looking ahead at wrong points and dropping what is least wanted: 537 and 623 rows here.

    With either sign flipped the results are the same, but 600 and 2,320 rows are computed.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 8))
    signs = np.sign(X[:, 0] * X[:, 1] + X[:, 2])[None]
    rows = KernelRows(as_kernel(lambda X, Z: (X @ Z.T + 1) ** 3, X), X)
    orders = np.stack([rng.permutation(600) for _ in range(6)])
    assert learn_perceptrons(rows, signs, orders, memory_limit=2**30).rows_computed < 570
    assert learn_perceptrons(rows, signs, orders, memory_limit=1_100_000).rows_computed < 1000
