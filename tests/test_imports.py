"""What an import loads, and that names which are loaded later are as good as the others."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bayeskernels as bk

#: Each takes longer to import than all of our own modules.
LATER = [
    "arviz",
    "arviz_base",
    "arviz_plots",
    "arviz_stats",
    "bayeskernels.evidence",
    "bayeskernels.plots",
    "bayeskernels.reproduction",
    "bayeskernels.testing",
    "bayeskernels.zoo",
    "jinja2",
    "joblib",
    "matplotlib",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.stats",
    "sklearn",
]


def in_a_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loaded_by(statement):
    return in_a_new_process(f"import sys\n{statement}\nprint(*sys.modules)").split()


def test_an_import_loads_no_plots_and_no_tools():
    assert {*LATER, "scipy.special"} & set(loaded_by("import bayeskernels")) == set()


def test_builders_load_no_more():
    assert set(LATER) & set(loaded_by("import bayeskernels; bayeskernels.models")) == set()


def test_steps_are_registered_by_an_import():
    code = "import pymc, bayeskernels; print(*(s.name for s in pymc.step_methods.STEP_METHODS))"
    names = in_a_new_process(code).split()
    assert {"refractive_billiard", "kernel_gibbs", "billiard", "reversible_jump"} <= set(names)


def test_all_names_come_with_a_star():
    code = """
from bayeskernels import *
import bayeskernels, bayeskernels.samplers
print(set(bayeskernels.__all__) - set(globals()))
from bayeskernels.samplers import *
print(set(bayeskernels.samplers.__all__) - set(globals()))
"""
    assert in_a_new_process(code).split() == ["set()", "set()"]


def test_a_module_of_plots_is_found_by_its_name():
    assert "vote_map" in in_a_new_process("import bayeskernels as bk; print(bk.plots.vote_map)")


@pytest.mark.parametrize("package", [bk, bk.samplers])
def test_names_are_listed_and_known_to_type_checkers(package):
    assert set(package.__all__) <= set(dir(package))
    tree = ast.parse(Path(package.__file__).read_text())
    choices = [node for node in tree.body if isinstance(node, ast.If)]
    [block] = [node for node in choices if ast.unparse(node.test) == "TYPE_CHECKING"]
    checked = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        for alias in node.names
    }
    [call] = [
        n for n in ast.walk(tree) if isinstance(n, ast.Call) and "late" in ast.unparse(n.func)
    ]
    places = {
        name: package.__name__ + place.replace(":", ".")
        for name, place in ast.literal_eval(call.args[1]).items()
    }
    assert places == checked


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'bayeskernels' has no attribute 'modles'"):
        bk.modles  # noqa: B018
