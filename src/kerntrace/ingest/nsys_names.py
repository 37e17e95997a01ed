"""Texts of an Nsight Systems export: `StringIds`, and text columns as dictionaries of what really occurs. Room: ingest.

StringIds also holds texts that must not leave the export (process names, the environment). Only a text that a kernel, a call,
a range or an overhead refers to gets into a dictionary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kerntrace.errors import UnreadableError
from kerntrace.ingest.nsys_schema import STRINGS
from kerntrace.ingest.nsys_source import AGAIN, NsysSource, Rows, read_rows, utf8
from kerntrace.trace.table import Ints

Codes = npt.NDArray[np.int32]

_DENSE = 1 << 20  # ids this far beyond the number of strings are looked up in a table rather than by bisection
_TOO_MUCH = (1 << 31) - 1  # bytes that one Arrow text array holds


class Strings:
    """The texts of StringIds. A *code* is a text's place in `values`; -1 stands for none.

    Args:
        ids: ascending, no two the same.
        values: their texts, as bytes.
    """

    def __init__(self, ids: Ints, values: pa.Array) -> None:
        self.values = values
        self._ids = ids
        self._lowest = int(ids[0]) if len(ids) else 0
        span = int(ids[-1]) - self._lowest + 1 if len(ids) else 0
        self._code: Codes | None = None
        if span <= len(ids) * 8 + _DENSE:
            self._code = np.full(span + 1, -1, np.int32)  # the last place is where ids outside the span go
            self._code[ids - self._lowest] = np.arange(len(ids), dtype=np.int32)

    def codes(self, rows: Rows, column: str) -> Codes:
        """The code of each row's string id; -1 where it is null, unknown, or the export does not have the column."""
        if column not in rows:
            return np.full(len(rows), -1, np.int32)
        wanted = rows.ints(column, null=0)
        codes = self._of(wanted)
        if rows.get(column).null_count:
            codes[np.asarray(rows.get(column).is_null().to_numpy(zero_copy_only=False), bool)] = -1
        return codes

    def column(self, rows: Rows, column: str) -> pa.DictionaryArray:
        """The text of each row's string id."""
        return dictionary(self.codes(rows, column), self.values)

    def _of(self, wanted: Ints) -> Codes:
        if not len(self._ids):
            return np.full(len(wanted), -1, np.int32)
        if self._code is not None:
            outside = (wanted < self._lowest) | (wanted > int(self._ids[-1]))
            return self._code[np.where(outside, len(self._code) - 1, wanted - self._lowest)]
        place = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        return np.where(self._ids[place] == wanted, place, -1).astype(np.int32)


def read_strings(source: NsysSource) -> Strings:
    """StringIds; of several texts with one id the first counts. No strings where the export has no such table."""
    batches = list(read_rows(source, STRINGS))
    if not batches:
        return Strings(np.zeros(0, np.int64), pa.array([], pa.large_binary()))
    ids, first = np.unique(np.concatenate([b.ints("id", null=0) for b in batches]), return_index=True)
    values = pa.chunked_array([b.get("value").cast(pa.large_binary()) for b in batches]).combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    if len(first) != len(values) or np.any(np.diff(first) < 0):
        values = values.take(pa.array(first))
    return Strings(ids, values)


def require_strings(source: NsysSource, strings: Strings) -> None:
    """Kernels and calls have their names in StringIds, so an export that has either needs it.

    Raises:
        UnreadableError: if there are no strings.
    """
    if not len(strings.values):
        raise UnreadableError(f"{source.shown} has no table StringIds, which holds the names of kernels and API calls", AGAIN)


def dictionary(codes: Codes, values: pa.Array) -> pa.DictionaryArray:
    """A text column: row i is `values[codes[i]]` (bytes, made UTF-8), null where the code is -1.

    Its dictionary holds the values that occur, each once.
    """
    kept, places = _occurring(codes, len(values))
    raw = values.take(pa.array(kept))
    if raw.nbytes >= _TOO_MUCH:
        raise UnreadableError(f"the names of {len(codes)} events take {raw.nbytes >> 20} MiB", "No real trace has such names.")
    texts = utf8(raw).dictionary_encode()
    again = np.append(_numpy(texts.indices.fill_null(-1)), np.int32(-1))
    renumbered = again[places]
    return pa.DictionaryArray.from_arrays(pa.array(renumbered, mask=renumbered < 0), texts.dictionary)


def coalesced(texts: pa.Array | None, strings: Strings, codes: Codes) -> pa.DictionaryArray:
    """Row i's own text, or where that is null the string that `codes` names."""
    if texts is None or texts.null_count == len(texts):
        return dictionary(codes, strings.values)
    own = texts.dictionary_encode()
    mine = _numpy(own.indices.fill_null(-1))
    kept, places = _occurring(np.where(mine >= 0, np.int32(-1), codes), len(strings.values))
    values = pa.concat_arrays([own.dictionary.cast(pa.large_binary()), strings.values.take(pa.array(kept))])
    theirs = np.where(places < 0, np.int32(-1), places + np.int32(len(own.dictionary)))
    return dictionary(np.where(mine >= 0, mine, theirs), values)


def _occurring(codes: Codes, count: int) -> tuple[Ints, Codes]:
    """The codes below `count` that occur, ascending, and for each row the place of its code among them (-1 for -1)."""
    used = np.zeros(count + 1, bool)
    used[codes] = True  # -1 marks the last place
    kept = np.flatnonzero(used[:-1])
    place = np.full(count + 1, -1, np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    return kept, place[codes]


def _numpy(array: Any) -> Codes:
    return np.asarray(array.to_numpy(zero_copy_only=False), np.int32)
