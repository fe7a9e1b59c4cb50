"""Names of a package that are imported when they are first used.

Plots, scikit-learn, ArviZ and much of SciPy take several times as long to import as PyMC does. Who
builds a model and samples it need not wait for them.
"""

from importlib import import_module

__all__ = ["late_names"]


def late_names(namespace, places):
    """Functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    namespace : dict
        Of the package, in which a name stays once it was used.
    places : dict
        Where each name comes from, as seen from the package: ``".gp"`` for a module,
        ``".prediction.flips:flip_probability"`` for what is in one.
    """
    package = namespace["__name__"]

    def __getattr__(name):
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, inside = places[name].partition(":")
        found = import_module(module, package)
        return namespace.setdefault(name, getattr(found, inside) if inside else found)

    def __dir__():
        return sorted({*namespace, *places})

    return __getattr__, __dir__
