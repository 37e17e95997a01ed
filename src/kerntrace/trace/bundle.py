"""`NAME.ktrace/` on disk: a manifest and one Parquet file a table, written whole or not at all. Room: trace."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kerntrace.errors import UnreadableError, UsageError
from kerntrace.trace import manifest as manifests
from kerntrace.trace.builder import sorted_table
from kerntrace.trace.manifest import Manifest, TableInfo
from kerntrace.trace.migrate import RawBundle, major_of, migrate
from kerntrace.trace.model import Trace
from kerntrace.trace.order import in_order
from kerntrace.trace.schema import FORMAT_MAJOR, FORMAT_NAME, TABLES, TableSchema
from kerntrace.trace.table import Table

MANIFEST = "manifest.json"
SUFFIX = ".ktrace"
_ROW_GROUP = 1 << 20
_MANIFEST_LIMIT = 16 << 20


def is_bundle(path: Path) -> bool:
    """Whether the path looks like a bundle: a directory with a manifest."""
    return (path / MANIFEST).is_file()


def write_bundle(trace: Trace, path: Path, *, force: bool = False) -> Manifest:
    """Write a trace as a bundle and return its manifest, now with rows and checksums.

    The files are written beside `path`, flushed to disk, and take their name in one rename: a crash leaves the old bundle or
    none.

    Raises:
        UsageError: if `path` exists and `force` is not given, or exists and is not a bundle.
        KerntraceError: if the disk does not take it.
    """
    path = bundle_path(path)
    refuse_to_overwrite(path, force)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise UsageError(f"{path.parent} cannot be written to: {error.strerror}", "Choose another place with -o.") from None
    try:
        written = _write_files(trace, draft)
        draft.chmod(0o755)
        _replace(draft, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", "Choose another place with -o.") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return written


def read_bundle(path: Path, *, verify: bool = False) -> Trace:
    """The trace in a bundle. Columns are read from disk when they are first asked for.

    Args:
        verify: compare each file's SHA-256 with the manifest, which reads every byte.

    Raises:
        UnreadableError: if it is not a bundle, is of a newer major, or its files contradict its manifest.
    """
    raw = _raw_manifest(path)
    if major_of(raw, str(path)) < FORMAT_MAJOR:
        listed = raw.get("tables")
        names = [name for name in listed if isinstance(name, str)] if isinstance(listed, dict) else []
        tables = {name: _opened(path, name).read() for name in names if (path / f"{name}.parquet").is_file()}
        raw, tables = migrate(RawBundle(raw, tables), str(path))
        manifest = manifests.decode(raw, str(path))
        return Trace(manifest, **{n: _in_memory(s, tables.get(n), path) for n, s in TABLES.items()})
    manifest = manifests.decode(raw, str(path))
    if verify:
        _verify(path, manifest)
    return Trace(manifest, **{name: _table(path, schema, manifest) for name, schema in TABLES.items()})


def bundle_path(path: Path) -> Path:
    """Where a bundle of this name is written: the name ends in .ktrace."""
    if path.name in ("", ".", ".."):
        raise UsageError(f"{str(path) or '(nothing)'} is no name for a bundle", "Name it, as in -o run.ktrace.")
    return path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)


def _is_ours(path: Path) -> bool:
    """Whether the path is a kerntrace bundle by what its manifest says, of whatever version."""
    try:
        said = _raw_manifest(path)
    except UnreadableError:
        return False
    return isinstance(said, dict) and isinstance(said.get("format"), dict) and said["format"].get("name") == FORMAT_NAME


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """Stop where writing a bundle would destroy something.

    Raises:
        UsageError: if the path exists and either `force` is not given or it is not a bundle.
    """
    path = bundle_path(path)
    try:
        there = path.exists() or path.is_symlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {reason}", "Choose another name with -o.") from None
    if not there:
        return
    if not force:
        raise UsageError(f"{path} exists already", "Choose another name with -o, or add --force to replace it.")
    if not _is_ours(path) and not (path.is_dir() and not any(path.iterdir())):
        raise UsageError(f"{path} exists and is not a kerntrace bundle, so --force does not replace it", "Choose another name.")


def _write_files(trace: Trace, draft: Path) -> Manifest:
    tables = {}
    for name, table in trace.tables().items():
        file = draft / f"{name}.parquet"
        _write_parquet(table, file)
        tables[name] = TableInfo(rows=len(table), sha256=_sha256(file))
    written = msgspec.structs.replace(trace.manifest, tables=tables)
    (draft / MANIFEST).write_bytes(manifests.encode(written))
    for file in (*draft.iterdir(), draft):
        _sync(file)
    return written


def _write_parquet(table: Table, file: Path) -> None:
    whole = table.arrow_table()
    texts = [f.name for f in whole.schema if pa.types.is_dictionary(f.type)]
    deltas = {f.name: "DELTA_BINARY_PACKED" for f in whole.schema if f.type == pa.int64()}
    pq.write_table(
        whole,
        file,
        compression="zstd",
        compression_level=3,
        row_group_size=_ROW_GROUP,
        use_dictionary=texts + [f.name for f in whole.schema if f.type == pa.int32()],
        column_encoding=deltas,
    )


def _replace(draft: Path, path: Path) -> None:
    """Give the draft its name. Should that fail, the old bundle is put back."""
    if path.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
        kept = old / path.name
        try:
            os.rename(path, kept)
            os.rename(draft, path)
        except BaseException:
            if kept.exists():
                os.rename(kept, path)
            with suppress(OSError):
                old.rmdir()
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(draft, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        digest = hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()


def _raw_manifest(path: Path) -> Any:
    file = path / MANIFEST
    try:
        if file.stat().st_size > _MANIFEST_LIMIT:
            raise UnreadableError(f"{file} is too large to be a manifest", "Name a NAME.ktrace directory.")
        said = json.loads(file.read_bytes())
        json.dumps(said, ensure_ascii=False).encode()  # half a surrogate pair is JSON, but no text
        return said
    except FileNotFoundError:
        raise UnreadableError(f"{path} has no {MANIFEST}: it is not a kerntrace bundle, or only half of one", "") from None
    except (ValueError, RecursionError):
        raise UnreadableError(f"{file} is not JSON: the bundle is damaged", "Record or import the trace again.") from None
    except OSError as error:
        raise UnreadableError(f"{file} cannot be read: {error.strerror}", "") from None


def _verify(path: Path, manifest: Manifest) -> None:
    for name, info in manifest.tables.items():
        file = path / f"{name}.parquet"
        if name in TABLES and file.is_file() and _sha256(file) != info.sha256:
            raise UnreadableError(
                f"{file} is not the file that the manifest speaks of: its SHA-256 differs",
                "It was changed or damaged after it was written; import or record the trace again.",
            )


def _opened(path: Path, name: str) -> pq.ParquetFile:
    file = path / f"{name}.parquet"
    texts = [c.name for c in TABLES[name].columns if pa.types.is_dictionary(c.type)] if name in TABLES else []
    try:
        present = set(pq.read_schema(file, memory_map=True).names)
        return pq.ParquetFile(file, read_dictionary=[t for t in texts if t in present], memory_map=True)
    except FileNotFoundError:
        raise UnreadableError(f"{file} is missing, though the manifest lists it", "Copy the whole bundle again.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableError(f"{file} cannot be read: {_line(error)}", "Import or record the trace again.") from None


def _table(path: Path, schema: TableSchema, manifest: Manifest) -> Table:
    info = manifest.tables.get(schema.name)
    if info is None:
        return Table.empty(schema)
    file = _opened(path, schema.name)
    rows = file.metadata.num_rows
    if rows != info.rows:
        raise UnreadableError(
            f"{path}: {schema.name} has {rows} rows, its manifest says {info.rows}", "Import or record the trace again."
        )
    present = set(file.schema_arrow.names)
    _require_columns(path, schema, present)

    def load(names: list[str]) -> Mapping[str, pa.ChunkedArray]:
        try:
            read = file.read(columns=[n for n in names if n in present])
            return {n: _as_declared(read[n], schema, n) for n in read.column_names}
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UnreadableError(
                f"{path}: {schema.name} cannot be read: {_line(error)}", "Import or record it again."
            ) from None

    return _in_its_order(Table(schema, rows, load))


def _as_declared(column: pa.ChunkedArray, schema: TableSchema, name: str) -> pa.ChunkedArray:
    """The column in its declared type; text is looked through, since Parquet says UTF-8 but nobody checks."""
    column = column.cast(schema.column(name).type)
    for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
        chunk.dictionary.validate(full=True)
    return column


def _require_columns(path: Path, schema: TableSchema, present: set[str]) -> None:
    lacking = [column.name for column in schema.columns if column.required and column.name not in present]
    if lacking:
        raise UnreadableError(f"{path}: {schema.name} has no column {', '.join(lacking)}", "Import or record the trace again.")


def _in_its_order(table: Table) -> Table:
    """The table, sorted if another program wrote its rows in another order. What decides is looked at, not every key."""
    if len(table) < 2 or "start_ns" not in table.schema.names:
        return table
    latest = np.iinfo(np.int64).max
    table.load(["start_ns", "end_ns"])
    end = table.ints("end_ns", null=latest)
    keys = [table.ints("start_ns", null=latest), np.negative(end) if "-end_ns" in table.schema.order else end]
    return table if in_order(keys) else sorted_table(table)


def _in_memory(schema: TableSchema, table: pa.Table | None, path: Path) -> Table:
    if table is None:
        return Table.empty(schema)
    _require_columns(path, schema, set(table.column_names))
    try:
        return Table.of(schema, {n: _as_declared(table[n], schema, n) for n in schema.names if n in table.column_names})
    except pa.ArrowException as error:
        raise UnreadableError(f"{path}: {schema.name} cannot be read: {_line(error)}", "") from None


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
