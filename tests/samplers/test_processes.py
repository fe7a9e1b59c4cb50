"""Draws depend on nothing but model, data, seed and options: not on the process that makes them.

Nor on where arrays lie in memory, on the functions that were compiled or loaded before, or on the
order of sets.
"""

import importlib
import io
import pickle
import pkgutil

import cloudpickle
import numba
import numpy as np
import pymc as pm
import pytensor
import pytest
from every_builder import PLAIN, build
from every_step import CALLS, COMPILED_STEPS, STEPS, X, chain_of, generalized, plain
from numba.core.dispatcher import Dispatcher
from threadpoolctl import threadpool_limits

import bayeskernels as bk
from bayeskernels.samplers import ReversibleJump, block_step
from bayeskernels.samplers.compiled import dot, weighted_dot
from bayeskernels.testing.other_process import call_elsewhere
from bayeskernels.testing.step_chain import StepChain, first_difference


def make_all(steps, calls):
    """Chains with their states, and results of the calls, by name."""
    return (
        {name: chain_of(name).watch(1) for name in steps},
        {name: plain(CALLS[name]()) for name in calls},
    )


def make_again(steps, calls, chains):
    """The same in another order, and the chains once more from their states."""
    rests = {name: chain_of(name).resume(*chains[name]) for name in reversed(steps)}
    return *make_all(steps[::-1], calls[::-1]), rests


def assert_same(first, again):
    """Compare what :func:`make_all` and :func:`make_again` returned."""
    chains, results = first
    again_chains, again_results, rests = again
    for name, (record, _) in chains.items():
        names = list(record[0][0])
        difference = first_difference(record, again_chains[name][0], names)
        assert difference is None, f"{name}: {difference}"
        for at, rest in rests[name].items():
            difference = first_difference(record[at:], rest, names)
            assert difference is None, f"{name} from the state before step {at}: {difference}"
    assert [name for name in results if results[name] != again_results[name]] == []


FEW = ("refractive", "kernel gibbs", "chord billiard", "probit", "logistic", "identity", "classes")


def test_another_process():
    """One process for several steps, which are compiled already."""
    first = make_all(FEW, ())
    assert_same(first, call_elsewhere(make_again, FEW, (), first[0], hash_seed=2))


@pytest.mark.slow
def test_processes_with_empty_and_warm_caches(tmp_path):
    """Everything in three processes; the first has to compile it."""
    names = [*STEPS, *COMPILED_STEPS], list(CALLS)
    first = call_elsewhere(make_all, *names, cache=tmp_path)
    for hash_seed in (1, 2):
        again = call_elsewhere(make_again, *names, first[0], cache=tmp_path, hash_seed=hash_seed)
        assert_same(first, again)


def at_offset(content, shape, offset):
    """An array of float64 that begins so many bytes after a multiple of 64."""
    room = np.empty(len(content) + 128, dtype=np.uint8)
    start = -room.ctypes.data % 64 + offset
    array = room[start : start + len(content)].view(np.float64).reshape(shape)
    array[...] = np.frombuffer(content).reshape(shape)
    return array


class MovingPickler(cloudpickle.Pickler):
    """Puts the arrays of what it pickles at other places in memory, each at its own offset."""

    def __init__(self, file, layout):
        super().__init__(file)
        self.layout = self.count = layout

    def reducer_override(self, obj):
        is_plain = type(obj) is np.ndarray and obj.dtype == np.float64 and obj.flags.c_contiguous
        if not is_plain:
            return super().reducer_override(obj)
        # Steps of 3 and 1: neighbours differ, and so do the layouts of each array.
        self.count += 3
        return at_offset, (obj.tobytes(), obj.shape, 8 * (self.count % 8))


def moved(obj, layout):
    file = io.BytesIO()
    MovingPickler(file, layout).dump(obj)
    return pickle.loads(file.getvalue())


@pytest.mark.parametrize("name", STEPS)
def test_arrays_at_other_places(name):
    """Eight layouts: every array of the step begins at every place within 64 bytes."""
    chain = chain_of(name, 12)
    step = chain.begin(chain.new_step(), 1)
    [*_, (point, _)] = chain.run(step, steps=range(6))
    steps = [moved(step, layout) for layout in range(8)]
    record = chain.run(step, point, range(6, 12))
    for layout, other in enumerate(steps):
        difference = first_difference(
            record, chain.run(other, point, range(6, 12)), list(record[0][0])
        )
        assert difference is None, f"layout {layout}: {difference}"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_of_blas(n_classes):
    """Steps of ``pm.sample`` have as many as ``cores`` and the platform leave them."""
    rng = np.random.default_rng(1)
    inputs = rng.standard_normal((300, 5))
    classes = np.digitize(inputs[:, 0], [0.0] if n_classes == 2 else [-0.5, 0.5])
    model = generalized(inputs, classes, max_active=140)
    chain = StepChain(lambda: ReversibleJump(start_active=130, windows=0), model, None, None, 2)
    # As in pm.sample, which makes one step for all chains.
    made = chain.new_step()
    records = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            records.append(chain.run(chain.begin(made, 1)))
    assert first_difference(*records, list(chain.start)) is None


class FlagWhereItIsMade:
    """In place of a compiled graph."""

    def __init__(self, *args, **kwargs):
        self.is_fast = pytensor.config.numba__fastmath

    def __reduce__(self):
        return FlagWhereItIsMade, ()


@pytensor.config.change_flags(numba__fastmath=True)
def test_graphs_are_compiled_without_fast_mathematics(monkeypatch):
    """Here, and once more in a process that a step is sent to; even if a user wants it fast."""
    monkeypatch.setattr(block_step, "compile_graph", FlagWhereItIsMade)
    with pm.Model() as model:
        x = pm.LogNormal("x")
    read = block_step.GraphReader(model)(x)
    assert not read.function.is_fast
    sent = pickle.loads(cloudpickle.dumps(read))
    assert not sent.function.is_fast
    assert sent.names == ("x_log__",)
    assert FlagWhereItIsMade().is_fast


@pytest.mark.parametrize("place", ["PYTENSOR_FLAGS", "PYTENSORRC"])
def test_fast_mathematics_for_who_asks_for_it(place, tmp_path, monkeypatch):
    assert not pytensor.config.numba__fastmath
    settings = tmp_path / "settings"
    settings.write_text("[numba]\nfastmath = True\n")
    values = {"PYTENSOR_FLAGS": "numba__fastmath=True", "PYTENSORRC": str(settings)}
    monkeypatch.setenv(place, values[place])
    assert call_elsewhere(lambda: pytensor.config.numba__fastmath)


class UntilCompilation(pickle.Unpickler):
    """Reads up to the first compiled graph; ``modules`` is what it has imported before."""

    def __init__(self, content):
        super().__init__(io.BytesIO(content))
        self.modules = []

    def find_class(self, module, name):
        if name == "_constructor_Function":
            raise StopIteration
        self.modules.append(module)
        return super().find_class(module, name)


@pytest.mark.parametrize(
    "name",
    [
        *("bayesian_linear_regression", "bayesian_svm", "complete svm", "gaussian_mean"),
        *("gp_probit", "gp_regression", "logistic_regression", "rbf_network"),
    ],
)
def test_workers_import_the_package_before_they_compile(name):
    """Where NUTS is the only step too; workers that are not forked start with PyTensor's flags."""
    with build(name):
        step = pm.NUTS(compile_kwargs={"mode": PLAIN})
    reader = UntilCompilation(cloudpickle.dumps(step))
    with pytest.raises(StopIteration):
        reader.load()
    assert any(module.partition(".")[0] == "bayeskernels" for module in reader.modules)


def compiled_functions():
    for package in (bk, bk.models, bk.samplers):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith("__main__"):
                continue
            module = importlib.import_module(found.name)
            for name, value in vars(module).items():
                if isinstance(value, Dispatcher):
                    yield f"{found.name}.{name}", value


def test_no_compiled_function_may_be_rounded_as_it_happens_to_be_optimised():
    functions = dict(compiled_functions())
    assert len(functions) > 100
    # Whether NaN or the sign of zero matters does not change a number.
    loose = {
        name: function.targetoptions["fastmath"]
        for name, function in functions.items()
        if not set(function.targetoptions.get("fastmath") or ()) <= {"nnan", "nsz"}
    }
    assert loose == {}


@pytest.mark.parametrize("n", [*range(40), 1000])
def test_sums_in_a_fixed_order(n):
    rng = np.random.default_rng(n)
    w, x, y = (rng.standard_normal(n) for _ in range(3))
    lanes = np.zeros(16)
    whole, fours = n - n % 16, n - n % 4
    for products, dotted in ((x * y, dot(x, y)), (w * x * y, weighted_dot(w, x, y))):
        lanes[:] = 0.0
        for start in range(0, whole, 16):
            lanes += products[start : start + 16]
        for start in range(whole, fours, 4):
            lanes[:4] += products[start : start + 4]
        a, b, c, d = lanes.reshape(4, 4)
        p, q, r, s = (a + b) + (c + d)
        expected = (p + q) + (r + s)
        for product in products[fours:]:
            expected += product
        assert dotted == expected


def test_sums_of_columns_are_refused():
    with pytest.raises(numba.TypingError, match="side by side"):
        dot(X[:, 0], X[:, 1])
