"""The papers that the zoo comes from, for tables and reports."""

from dataclasses import dataclass

__all__ = ["SOURCES", "Source", "source_of"]


@dataclass(frozen=True)
class Source:
    """A paper, or a lecture.

    Attributes
    ----------
    key : str
        Short name, as in the docstrings of the package.
    citation : str
        Authors, title, place and year.
    """

    key: str
    citation: str


SOURCES = {
    source.key: source
    for source in (
        Source(
            "KGS",
            "T. Graepel and R. Herbrich. The Kernel Gibbs Sampler. Advances in Neural Information "
            "Processing Systems 13, 2001.",
        ),
        Source(
            "BPM",
            "R. Herbrich, T. Graepel and C. Campbell. Bayes Point Machines. Journal of Machine "
            "Learning Research 1:245-279, 2001.",
        ),
        Source(
            "GKM",
            "Z. Zhang, G. Dai and M. I. Jordan. Bayesian Generalized Kernel Mixed Models. Journal "
            "of Machine Learning Research 12:111-139, 2011.",
        ),
        Source(
            "LEC",
            "Kernel methods for regression, Gaussian processes and Bayesian learning. Lecture, "
            "TU Darmstadt.",
        ),
    )
}


def source_of(key):
    """Source with a short name.

    Examples
    --------
    >>> source_of("BPM").citation[:12]
    'R. Herbrich,'
    """
    try:
        return SOURCES[key]
    except KeyError:
        raise ValueError(
            f"Unknown source {key!r}: expected one of {', '.join(SOURCES)}, or add it to "
            "bayeskernels.data.sources."
        ) from None
