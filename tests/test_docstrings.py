"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import arviz
import numpy
import pandas
import pymc
import pytensor.tensor
import pytest
import xarray
from matplotlib import pyplot

import bayeskernels

#: What an example may use without an import, as the docstring of the package says.
KNOWN = {
    "az": arviz,
    "bk": bayeskernels,
    "np": numpy,
    "pd": pandas,
    "pm": pymc,
    "pt": pytensor.tensor,
    "xr": xarray,
}

MODULES = [
    module.name
    for package in (bayeskernels, bayeskernels.models, bayeskernels.samplers)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", sorted(set(MODULES)))
def test_examples(name):
    results = doctest.testmod(
        importlib.import_module(name),
        extraglobs=KNOWN,
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    # Matplotlib warns of many open figures, and here warnings are errors.
    pyplot.close("all")
    assert results.failed == 0
