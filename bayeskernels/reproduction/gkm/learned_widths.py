"""GKM Tables 8 and 9: classifiers that learn the width of every input, on four data sets."""

from bayeskernels.reproduction.gkm.runs import register_table, views_of_one_run
from bayeskernels.reproduction.gkm.views import show_checks, show_errors, show_times

__all__ = ["TABLES"]

_COLUMNS = ("fgp_kl", "fbgkm_kl", "sgpc_kl", "svm")

TABLES = views_of_one_run(
    {8: (_COLUMNS, (show_errors, show_checks)), 9: (_COLUMNS, (show_times,))}, draws=500
)


register_table(
    TABLES[8],
    "Classifiers that learn the widths of their kernels on four data sets",
    """Test error with a learned width for each input (GKM, section 5.3, Table 8).

    FBGKM+KL and SGPC+KL are one model and have the same posterior: two chains with different seeds
    and starts. FGP+KL is a full Gaussian process whose widths maximise Laplace's approximation of
    its evidence; the paper has expectation propagation. The SVM is tuned, with one width. Of
    SGP+FIC+KL there is the paper's column only.
    """,
)

register_table(
    TABLES[9],
    "Times for Table 8",
    "Seconds of the processor behind Table 8 (GKM, section 5.3, Table 9).",
)
