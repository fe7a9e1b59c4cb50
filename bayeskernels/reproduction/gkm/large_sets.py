"""GKM Tables 10 to 12: sparse Bayesian kernel classifiers on 2,000 to 20,000 training points."""

from bayeskernels.reproduction.gkm.runs import TableRun, register_table
from bayeskernels.reproduction.gkm.views import show_burn_in, show_checks, show_errors, show_times

__all__ = ["TABLES"]

_VIEWS = {10: (show_errors, show_checks), 11: (show_times,), 12: (show_burn_in,)}

#: Views of one run.
TABLES = {
    number: TableRun(
        name=f"gkm-table-{number}",
        methods=("fic", "fbgkm", "sgpc") + (("svm",) if number == 10 else ()),
        left_out=("fic",),
        shares_with=tuple(f"gkm-table-{other}" for other in _VIEWS if other != number),
        views=views,
        draws=500,
        tune=500,
    )
    for number, views in _VIEWS.items()
}


register_table(
    TABLES[10],
    "Sparse Bayesian kernel classifiers against tuned SVM on five large data sets",
    """Test error on five large sets, 200 active points at most (GKM, section 5.3, Table 10).

    FBGKM and SGPC are one model and have the same posterior: their columns are two chains with
    different seeds and starts. SGP+FIC+MCMC is a Gaussian process with 200 inducing points by NUTS;
    of SGP+FIC+EP there is the paper's column only. The SVM is tuned on 1,000 of the training points
    and learns from all. Tables 11 and 12 find in the same --out what is run here.
    """,
)

register_table(
    TABLES[11],
    "Times for Table 10",
    "Seconds of the processor behind Table 10 (GKM, section 5.3, Table 11).",
)

register_table(
    TABLES[12],
    "Lengths of the burn-in for Table 10",
    """Length of the burn-in by Brooks' cusum (GKM, section 5.3, Table 12).

    The paper does not say which quantity it follows; here it is the number of active points,
    thinned until draws are nearly independent, as the criterion is for those.
    """,
)
