"""Bootstrap of step costs by subtraction, reproducible to the byte. Room: stats | hardware | workload.

A repetition's step cost is (wall with g tokens - wall with 1 token) / (g - 1). The raw walls are resampled, those with g and
those with 1 token each on their own, and the median of the step costs so made is one draw. Every arm of every cell has a random
stream of its own, from the study's seed and the arm's name: its draws do not depend on what else the study holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from kerntrace.stats.interval import Floats

Index = npt.NDArray[np.int64]


def stream(seed: int, *names: object) -> np.random.Generator:
    """A PCG64 stream that belongs to the seed and the names.

    Args:
        seed: not negative.
    """
    digest = blake2b("\x1f".join(map(str, names)).encode(), digest_size=16).digest()
    words = [seed, *np.frombuffer(digest, "<u4").tolist()]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


def median_steps(rng: np.random.Generator, longer: Floats, shorter: Floats, divisor: int, resamples: int) -> Floats:
    """Resampled medians of the step cost, all repetitions taken as one sample.

    Args:
        longer, shorter: walls with g and with 1 token, ns; their numbers may differ.
        divisor: g - 1.

    Returns:
        (resamples,) ns.
    """
    size = len(longer)
    drawn = longer[rng.integers(0, size, (resamples, size))]
    drawn -= shorter[rng.integers(0, len(shorter), (resamples, size))]
    medians: Floats = np.median(drawn, axis=1, overwrite_input=True) / divisor
    return medians


def pick_sessions(rng: np.random.Generator, sessions: int, resamples: int) -> Index:
    """Which sessions each resample holds, (resamples, sessions): drawn with replacement."""
    return rng.integers(0, sessions, (resamples, sessions))


def median_steps_by_session(
    rng: np.random.Generator, walls: Sequence[tuple[Floats, Floats]], divisor: int, picked: Index
) -> Floats:
    """Resampled medians of the step cost: sessions first, then repetitions within each session drawn.

    Args:
        walls: (with g tokens, with 1 token) of each session, ns; of equal length within a session.
        picked: of `pick_sessions`.

    Returns:
        (resamples,) ns. Each drawn session gives the mean session's number of repetitions, so that all draws have one size.
    """
    sizes = np.array([len(longer) for longer, _ in walls])
    each = max(1, round(float(sizes.mean())))
    longer, shorter = (np.concatenate(part) for part in zip(*walls))
    begin = (np.cumsum(sizes) - sizes)[picked][:, :, None]
    size = sizes[picked][:, :, None]
    shape = (*picked.shape, each)
    drawn = longer[begin + (rng.random(shape) * size).astype(np.int64)]
    drawn -= shorter[begin + (rng.random(shape) * size).astype(np.int64)]
    medians: Floats = np.median(drawn.reshape(len(picked), -1), axis=1, overwrite_input=True) / divisor
    return medians
