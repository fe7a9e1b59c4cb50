"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest
from matplotlib import pyplot

import bayeskernels

MODULES = [
    module.name
    for package in (bayeskernels, bayeskernels.models, bayeskernels.samplers)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", sorted(set(MODULES)))
def test_examples(name):
    results = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    # Matplotlib warns of many open figures, and here warnings are errors.
    pyplot.close("all")
    assert results.failed == 0
