"""What the wheel will contain, and how folders and files may depend on each other."""

import ast
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"bayeskernels": ROOT / "bayeskernels"} | {
    f"bayeskernels.{name}": ROOT / name for name in ("models", "samplers")
}

#: Folders that know nothing but each other. Samplers and models stand on them, side by side; every
#: other folder is one of tools.
GROUND = {"data", "distributions", "geometry", "graphs", "kernels", "linear", "specification"}
SIBLINGS = {"models", "samplers"}

#: A folder, a file, or a list of parameters with more than this is full.
MOST_MODULES, MOST_LINES, MOST_PARAMETERS = 14, 450, 8


def _paths():
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), path


MODULES = dict(_paths())
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


def imports(name):
    """Pairs of a module of ours and the name that is imported from it, or None for the module."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bayeskernels"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole, None) if whole in MODULES else (node.module, alias.name)


def folder(module):
    """Folder of the first level in which a module lies; flat modules are folders of their own."""
    return [*module.split("."), ""][1]


def may_import(module, other):
    here, there = folder(module), folder(other)
    if here == there or not here:
        return True
    is_ground = GROUND | {"compiled", "compiled_cache", "inputs", "lazy"}
    if here in is_ground:
        return there in is_ground
    if here in SIBLINGS:
        return there in is_ground
    return bool(there) or here in {"__main__", "command", "reproduction", "zoo"}


def test_every_package_is_listed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join([package, *path.parent.relative_to(folder).parts])
        for package, folder in FOLDERS.items()
        for path in folder.rglob("__init__.py")
    }
    assert set(listed) == found


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_one_way(name):
    wrong = {other for other, _ in imports(name) if not may_import(name, other)}
    assert not wrong, f"{name} must not know {wrong}"


@pytest.mark.parametrize("name", [name for name in MODULES if folder(name) != "specification"])
def test_specifications_are_asked_and_not_type_tested(name):
    """Neither their type nor their kind decides: a new model would have to be added there."""
    calls = [node for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)]
    types = {
        ast.unparse(call)
        for call in calls
        if ast.unparse(call.func) in ("isinstance", "issubclass", "hasattr", "getattr", "type")
        and "pecification" in ast.unparse(call)
    }
    kinds = {
        ast.unparse(node)
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Compare) and "specification.kind" in ast.unparse(node)
    }
    assert not types | kinds


@pytest.mark.parametrize("name", MODULES)
def test_no_private_name_crosses_files(name):
    private = {
        f"{other}.{imported}"
        for other, imported in imports(name)
        if (imported or other.rpartition(".")[2]).startswith("_")
    }
    assert private <= {"bayeskernels.__version__"}


@pytest.mark.parametrize("name", MODULES)
def test_compile_options_stand_in_one_place(name):
    calls = [node for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)]
    compiled = [node for node in calls if getattr(node.func, "attr", None) in ("njit", "jit")]
    own = [keyword.arg for node in compiled for keyword in node.keywords if keyword.arg]
    assert not own, f"{name} has options {own} of its own: use **JIT of bayeskernels.compiled"
    keys = [
        key for node in ast.walk(TREES[name]) if isinstance(node, ast.Dict) for key in node.keys
    ]
    copies = [key for key in keys if getattr(key, "value", None) == "error_model"]
    assert not copies or name == "bayeskernels.compiled"


def test_no_cycle_of_imports():
    # A package's own names come from its modules, which ask each other and not the package.
    graph = {
        name: {other for other, _ in imports(name) if other != name}
        for name, path in MODULES.items()
        if path.name != "__init__.py"
    }
    TopologicalSorter(graph).prepare()


ACTIVE_SETS = "bayeskernels.samplers.active_sets"


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith(ACTIVE_SETS)])
def test_functions_of_active_sets_have_few_positional_parameters(name):
    functions = [node for node in ast.walk(TREES[name]) if isinstance(node, ast.FunctionDef)]
    counts = {f.name: len(f.args.posonlyargs + f.args.args) for f in functions}
    assert {f: count for f, count in counts.items() if count > MOST_PARAMETERS} == {}


def _written(tree):
    """Attributes into whose entries a module writes."""
    for node in ast.walk(tree):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        for target in targets if isinstance(node, ast.Assign | ast.AugAssign) else ():
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            for part in parts:
                if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Attribute):
                    yield part.value.attr


def test_columns_of_active_sets_have_one_owner():
    state = TREES[f"{ACTIVE_SETS}.columns.state"]
    [columns] = [n for n in ast.walk(state) if getattr(n, "name", None) == "ActiveColumns"]
    fields = {n.target.id for n in columns.body if isinstance(n, ast.AnnAssign)}
    assert {"V", "inverse", "size"} <= fields & set(_written(state))
    written = {
        f"{name}: {field}"
        for name, tree in TREES.items()
        if name.startswith((ACTIVE_SETS, "bayeskernels.samplers.tempering"))
        and ".columns." not in name
        for field in fields & set(_written(tree))
    }
    assert written == set()


def test_no_folder_and_no_file_is_too_full():
    modules = [path for path in MODULES.values() if path.name != "__init__.py"]
    folders = {path.parent for path in modules}
    sizes = {f: sum(path.parent == f for path in modules) for f in folders}
    assert {f.name: size for f, size in sizes.items() if size > MOST_MODULES} == {}
    lines = {path.name: len(path.read_text().splitlines()) for path in modules}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
