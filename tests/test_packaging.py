"""What the wheel will contain, and in which direction modules may import each other."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"bayeskernels": ROOT / "bayeskernels"} | {
    f"bayeskernels.{name}": ROOT / name for name in ("models", "samplers")
}

# Nothing on a lower storey knows one above it; what is not named here is a tool on the top one.
GROUND = (
    "beyond_span bound_specification class_probability covariance_check data distributions draws "
    "features gp_specification gram hard_margin inputs kernel_check kernel_columns kernel_family "
    "kernels numpy_graphs prior_mass sources specification unit_rows version_space "
    "basis linear_gaussian rbf_fitting rbf_units regression_specification unconstrained "
    "variable_projection"
)
STOREYS = {f"bayeskernels.{name}": 0 for name in GROUND.split()} | {
    "bayeskernels.samplers": 1,
    "bayeskernels.models": 2,
}


def modules():
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join([package, *(part for part in parts if part != "__init__")])
            yield name, path


def storey(module):
    if module == "bayeskernels":
        return 4
    return next((s for name, s in STOREYS.items() if f"{module}.".startswith(f"{name}.")), 3)


def test_every_package_is_listed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join([package, *path.parent.relative_to(folder).parts])
        for package, folder in FOLDERS.items()
        for path in folder.rglob("__init__.py")
    }
    assert set(listed) == found


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: str(value)[:60])
def test_imports_point_one_way(name, path):
    imported = [
        f"{node.module}.{alias.name}" if node.module == "bayeskernels" else node.module
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bayeskernels")
        for alias in node.names
    ]
    above = [other for other in imported if storey(other) > storey(name)]
    assert not above, f"{name} must not know {above}"
