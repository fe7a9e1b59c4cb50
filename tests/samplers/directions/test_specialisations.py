"""A compiled function that a run needs in several forms takes several times as long to compile."""

import subprocess
import sys

import pytest

RUN = """
import sys
import pymc as pm
from numba.core.dispatcher import Dispatcher
from bayeskernels.command.warmup import FIRST_MODELS, first_draws

first_draws(FIRST_MODELS[{name!r}]())
found = {{
    f"{{value.py_func.__module__}}.{{name}}": value.signatures
    for module in list(sys.modules.values())
    if module.__name__.startswith("bayeskernels.")
    for name, value in vars(module).items()
    if isinstance(value, Dispatcher) and value.signatures
}}
assert found
for name, signatures in found.items():
    if len(signatures) > 1:
        print(name, *signatures, sep="\\n  ")
"""


@pytest.mark.parametrize("name", ["label_noise_classifier", "bayes_point_machine"])
def test_every_compiled_function_has_one_form(name):
    code = RUN.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
