"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

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
    assert results.failed == 0
