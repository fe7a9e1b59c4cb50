"""Columns of PyMC's progress bar. The hooks are private in PyMC: they are kept in one place."""

import numpy as np
from rich.progress import TextColumn
from rich.table import Column

__all__ = ["ProgressColumns"]


class ProgressColumns:
    """Mix-in that shows some sampler statistics while ``pm.sample`` runs.

    Set ``progress_columns`` to a dict from the name of a statistic to the heading of its column.
    Numbers are shown with three digits, and what is not there (NaN) as a dash.
    """

    progress_columns: dict[str, str] = {}

    @classmethod
    def _progressbar_config(cls, n_chains=1):
        columns = [
            TextColumn(f"{{task.fields[{stat}]}}", table_column=Column(heading, ratio=1))
            for stat, heading in cls.progress_columns.items()
        ]
        return columns, {stat: [0] * n_chains for stat in cls.progress_columns}

    @classmethod
    def _make_progressbar_update_functions(cls):
        def update_stats(step_stats):
            return {stat: _shown(step_stats[stat]) for stat in cls.progress_columns}

        return (update_stats,)


def _shown(value):
    if isinstance(value, float | np.floating):
        return "–" if np.isnan(value) else f"{value:.3g}"
    return value
