"""Tables and figures of the papers, computed again.

``bayeskernels reproduce NAME`` runs one. A reproduction joins by
:func:`~bayeskernels.reproduction.registry.register`, in a file that is imported below.
"""

from bayeskernels.reproduction import (  # noqa: F401, I001
    kgs_figure_4,
    bpm_table_1,
    bpm_figure_9,
    gkm,
    gp_benchmark,
)
from bayeskernels.reproduction.registry import (
    Reproduction,
    all_reproductions,
    find_reproduction,
    register,
)
from bayeskernels.command.repetitions import read_repetitions, run_repetitions

__all__ = [
    "Reproduction",
    "all_reproductions",
    "find_reproduction",
    "read_repetitions",
    "register",
    "run_repetitions",
]
