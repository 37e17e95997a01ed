"""Which process launched a device operation, in a format whose operations name none. Room: ingest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_UNKNOWN = -1


class Processes:
    """Finds the process of operations by their correlation ids, which are those of the API calls that launched them.

    Args:
        calls: correlation ids and pids of batches of API calls, null where not known.
    """

    def __init__(self, calls: list[tuple[pa.Array, pa.Array]]) -> None:
        ids, pids = (pa.chunked_array([batch[n] for batch in calls], pa.int64()) for n in (0, 1))
        distinct = pc.unique(pids.drop_null())
        self._only = distinct[0] if len(distinct) == 1 else None
        known = pc.and_(pc.is_valid(ids), pc.is_valid(pids))
        by_id = pa.table({"id": ids, "pid": pids}).filter(known).group_by("id").aggregate([("pid", "min"), ("pid", "max")])
        by_id = by_id.sort_by("id")
        self._ids = by_id["id"].to_numpy()
        first, last = by_id["pid_min"].to_numpy(), by_id["pid_max"].to_numpy()
        self._pids = np.where(first == last, first, _UNKNOWN)  # an id that two processes used tells neither

    def __call__(self, ids: pa.Array) -> pa.Array:
        """The pid of each operation. Where all calls are of one process, it is that one's; else null where no call tells."""
        if self._only is not None:
            return pa.repeat(self._only, len(ids))
        if not len(self._ids):
            return pa.nulls(len(ids), pa.int64())
        wanted = ids.fill_null(0).to_numpy()
        place = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        known = ids.is_valid().to_numpy(zero_copy_only=False) & (self._ids[place] == wanted) & (self._pids[place] != _UNKNOWN)
        return pa.array(self._pids[place], mask=~known)
