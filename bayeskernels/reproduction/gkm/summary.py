"""Repetitions of a table taken together, beside the paper's figures."""

from collections import Counter

import numpy as np

from bayeskernels.diagnostics.cusum import cusum
from bayeskernels.reproduction.gkm.paper import PAPER, PAPER_PARTITIONS
from bayeskernels.reproduction.spread import standard_error

__all__ = ["MAX_RHAT", "summarise"]

#: Chains with a larger R-hat are counted as not converged.
MAX_RHAT = 1.05


def summarise(table, records, settings):
    """Means over partitions beside the paper's figures.

    Parameters
    ----------
    table : str
        Key of :data:`bayeskernels.reproduction.gkm.paper.PAPER`.
    records : dict
        ``records[case][method][number]`` is what a job found on a partition.
    settings : dict
        With ``tune``, the sweeps thrown away.

    Returns
    -------
    dict
        ``table``, ``settings`` and ``sets``: for each case the sizes, the ``paper``'s cells by
        method, and ``methods``. Of a method that was run: the number of ``partitions``; ``mean``
        and ``standard_deviation`` of the test error in percent (None for one partition),
        ``standard_error``; ``z``, the distance from the paper in standard errors of both;
        ``against_svm``, mean and standard error of the paired difference to the tuned SVM (None
        where that was not run); mean ``seconds`` and ``size``; the largest R-hat, ``max_rhat``, the
        least ``ess``, and how many partitions are ``unconverged``; where the sizes of the active
        set are known, their ``distribution`` and the ``burn_in`` by Brooks' cusum.
    """
    sets = {}
    for case, methods in records.items():
        cells = [cell for cells in methods.values() for cell in cells.values()]
        if cells:
            sets[case] = {
                **{key: cells[0][key] for key in ("n_train", "n_test", "max_active")},
                "paper": PAPER[table][case],
                "methods": {
                    method: _summarise_method(
                        cells,
                        PAPER[table][case].get(method, {}),
                        methods.get("svm", {}) if method != "svm" else {},
                        settings["tune"],
                    )
                    for method, cells in methods.items()
                    if cells
                },
            }
    return {"table": table, "settings": settings, "sets": sets}


def _summarise_method(cells, paper, svm, tune):
    numbers = sorted(cells)
    errors = {number: 100 * cells[number]["error"] for number in numbers}
    n, values = len(numbers), list(errors.values())
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) if n > 1 else None
    found = {
        "partitions": n,
        "mean": mean,
        "standard_deviation": spread,
        "standard_error": standard_error(values),
        "z": _distance(mean, spread, n, paper),
        "against_svm": _difference(errors, svm),
        "seconds": float(np.mean([cells[number]["seconds"] for number in numbers])),
    }
    known = {
        key: [cells[number][key] for number in numbers if cells[number].get(key) is not None]
        for key in ("rhat", "ess", "size", "sizes")
    }
    found |= {
        "size": float(np.mean(known["size"])) if known["size"] else None,
        "max_rhat": max(known["rhat"], default=None),
        "ess": min(known["ess"], default=None),
        "unconverged": sum(rhat > MAX_RHAT for rhat in known["rhat"]),
    }
    if known["sizes"]:
        by_sweep = found["seconds"] / len(known["sizes"][0])
        found["distribution"] = _distribution([sizes[tune:] for sizes in known["sizes"]])
        found["burn_in"] = _burn_in(known["sizes"], by_sweep)
    return found


def _distance(mean, spread, n, paper):
    """How far a mean is from the paper's, in standard errors of both; None where it has none."""
    if "mean" not in paper:
        return None
    # Few partitions say little of their spread: it is not taken to be below the paper's.
    theirs = paper["standard_deviation"]
    variance = max(spread or 0.0, theirs) ** 2 / n + theirs**2 / PAPER_PARTITIONS
    return float((mean - paper["mean"]) / np.sqrt(variance))


def _difference(errors, svm):
    """Error less that of the SVM, on the partitions that both have."""
    pairs = [errors[number] - 100 * svm[number]["error"] for number in errors if number in svm]
    if not pairs:
        return None
    return {"mean": float(np.mean(pairs)), "standard_error": standard_error(pairs)}


def _distribution(chains):
    """Sizes of the active set after the burn-in, as in Table 7: medians over partitions."""
    most = [Counter(sizes).most_common(1)[0] for sizes in chains]
    return {
        "max": float(np.median([max(sizes) for sizes in chains])),
        "min": float(np.median([min(sizes) for sizes in chains])),
        "most": float(np.median([size for size, _ in most])),
        "share": float(np.median([count / len(chains[0]) for _, count in most])),
    }


def _burn_in(chains, seconds_by_sweep):
    """Length of the burn-in by Brooks' cusum, as in Table 12.

    Each chain is centred on the mean of its second half and thinned to nearly independent draws: a
    chain with autocorrelation is never as hairy as the criterion wants, however long it has
    converged. Medians over the partitions that pass.
    """
    lengths = []
    for sizes in chains:
        try:
            found = cusum(np.array(sizes), centre="late", thin="auto")
        except ValueError:  # Of so slow a chain hardly anything is left.
            continue
        if found["converged"].item():
            lengths.append(found["burn_in"].item())
    sweeps = float(np.median(lengths)) if lengths else None
    return {
        "sweeps": sweeps,
        "seconds": None if sweeps is None else sweeps * seconds_by_sweep,
        "passed": len(lengths),
    }
