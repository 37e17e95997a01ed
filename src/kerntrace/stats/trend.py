"""Whether a figure rises over ordered groups: Page's L over blocks, and how often resampling keeps the order.

Room: stats | hardware | workload.
"""

from __future__ import annotations

import numpy as np

from kerntrace.stats.interval import Floats


def page_trend(table: Floats) -> float | None:
    """The p value of Page's test that columns rise from left to right.

    Args:
        table: (blocks, groups), e.g. cells by GPUs in order of bandwidth; three groups or more, else None.
    """
    from scipy import stats

    if table.shape[1] < 3 or table.shape[0] < 2:
        return None
    return float(stats.page_trend_test(table).pvalue)


def share_in_order(draws: Floats) -> float:
    """The share of resamples (rows) whose values rise strictly over the columns."""
    return float(np.mean(np.all(np.diff(draws, axis=1) > 0, axis=1)))


def rising_residual(values: Floats) -> float:
    """The root mean square distance of values from their closest rising sequence (pool adjacent violators); 0 if they rise."""
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(values).x
    return float(np.sqrt(np.mean((values - fitted) ** 2)))
