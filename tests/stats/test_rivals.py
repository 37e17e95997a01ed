"""The four shapes of a gap: fitted as well as a fine search does, and told apart at the noise that was seen."""

from __future__ import annotations

import numpy as np
import pytest

from kerntrace.stats.rivals import BOTH, CONSTANT, FLOOR, PARAMETERS, RESIDUAL, RIVALS, fit, left_out_errors, simplest_of_best

N = np.tile([1.0, 2, 4, 8, 16, 32], 3)
CONTEXT = np.repeat([512.0, 2048, 8192], 6)
TIME = 4.9 + 0.012 * N + 3.0e-5 * N * CONTEXT
S = 1.3 + 0.2 * (N - 1)
TRUTH = {
    CONSTANT: np.full(18, 4.4),
    RESIDUAL: S,
    FLOOR: np.maximum(0, 13.8 - TIME),
    BOTH: np.maximum(0, 9.5 - TIME) + 0.5 * S,
}


def _fit_one(rival: str, gap: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float, float, float]:
    found = fit(rival, gap[None, :], TIME[None, :], S, np.ones((1, 18)))
    error = float(np.sum((gap - found.at(TIME[None, :], S, rival)[0]) ** 2))
    return float(found.constant[0]), float(found.floor[0]), float(found.slope[0]), error


@pytest.mark.parametrize(
    ("rival", "expected"),
    [(CONSTANT, (4.4, 0, 0)), (RESIDUAL, (0, 0, 1)), (FLOOR, (0, 13.8, 0)), (BOTH, (0, 9.5, 0.5))],
)
def test_a_shape_without_noise_is_found_exactly(rival: str, expected: tuple[float, float, float]) -> None:
    *found, error = _fit_one(rival, TRUTH[rival])
    assert found == pytest.approx(expected)
    assert error == pytest.approx(0, abs=1e-18)


@pytest.mark.parametrize("seed", range(12))
def test_no_finer_search_fits_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gap = TRUTH[RIVALS[seed % 4]] + rng.normal(0, 1.5, 18)
    floors = np.linspace(TIME.min() - 1, 25, 20_001)
    above = np.maximum(0, floors[:, None] - TIME)
    alone = ((gap - above) ** 2).sum(1).min()
    slope = ((gap - above) * S).sum(1) / (S**2).sum()
    both = ((gap - above - slope[:, None] * S) ** 2).sum(1).min()
    assert _fit_one(FLOOR, gap)[3] <= alone + 1e-9
    assert _fit_one(BOTH, gap)[3] <= both + 1e-9


def test_a_cell_left_out_is_the_cell_that_the_fit_did_not_see() -> None:
    rng = np.random.default_rng(1)
    gap = TRUTH[BOTH] + rng.normal(0, 0.5, 18)
    for rival in RIVALS:
        found = left_out_errors(rival, gap, TIME, S)[0]
        for cell in (0, 7, 17):
            rest = np.arange(18) != cell
            one = fit(rival, gap[None, rest], TIME[None, rest], S[rest], np.ones((1, 17)))
            expected = gap[cell] - one.at(TIME[None, [cell]], S[[cell]], rival)[0, 0]
            assert found[cell] == pytest.approx(expected)


@pytest.mark.parametrize("noise_ms", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("truth", RIVALS)
def test_each_shape_is_recovered_from_its_own_data(truth: str, noise_ms: float) -> None:
    rng = np.random.default_rng(11)
    gaps = TRUTH[truth] + rng.normal(0, noise_ms, (200, 18))
    times = np.broadcast_to(TIME, gaps.shape)
    errors = {rival: left_out_errors(rival, gaps, times, S) for rival in RIVALS}
    picked = simplest_of_best(errors)
    assert picked.count(truth) >= 170


def test_the_simpler_rival_is_taken_when_no_worse() -> None:
    small, large = 0.1 * np.array([1.0, -1, 1, -1, 1, -1]), np.full(6, 1.0)
    near = np.array([0.2, 0.02, 0.1, 0.1, 0.1, 0.1])
    sets = {CONSTANT: np.stack([1.001 * small, near, large]), BOTH: np.stack([small, small, small])}
    # Every cell agrees that it is worse; worse in one cell and better in another; far worse.
    assert simplest_of_best(sets) == [BOTH, CONSTANT, BOTH]
    assert simplest_of_best({FLOOR: large[None], CONSTANT: small[None], RESIDUAL: 2 * small[None]}) == [CONSTANT]


@pytest.mark.parametrize("seed", range(5))
def test_the_choice_is_that_of_its_rule_set_by_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    errors = {rival: rng.normal(0, 1 + 0.1 * i, (40, 12)) for i, rival in enumerate(RIVALS)}
    for i, said in enumerate(simplest_of_best(errors)):
        squares = {rival: errors[rival][i] ** 2 for rival in RIVALS}
        best = min(RIVALS, key=lambda rival: squares[rival].mean())
        near = [
            rival
            for rival in RIVALS
            if PARAMETERS[rival] < PARAMETERS[best] and (d := squares[rival] - squares[best]).mean() <= d.std(ddof=1) / 12**0.5
        ]
        assert said == (min(near, key=lambda rival: squares[rival].mean()) if near else best)
