"""A study's directory: study.toml as given, plan.json as resolved, and records.jsonl, to which lines are only ever added.

A line is on disk before the next measurement begins, so a kill at any moment costs at most the repetition under way; what it
tore is cut off when the store is opened again. Nothing in a store names a path or a host: it can be moved. Room: study.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import msgspec

from kerntrace import __version__
from kerntrace.errors import KerntraceError, UnreadableError, UsageError
from kerntrace.study.lines import decode_all, encode
from kerntrace.study.plan import Asked, parse_plan, plan_bytes, plan_digest
from kerntrace.study.records import IN_TURN, Host, Plan, Record, Study

SCHEMA = "kerntrace.study-store"
VERSION = 1
PLAN, SOURCE, RECORDS, PACKED = "plan.json", "study.toml", "records.jsonl", "records.jsonl.gz"
_LARGEST = 1 << 30


class _Resolved(msgspec.Struct, frozen=True):
    schema: str
    version: int
    plan_sha256: str
    replayed: bool
    producer: str
    plan: msgspec.Raw


class _Tag(msgspec.Struct, frozen=True):
    schema: str = ""
    version: int = 0


class Store:
    """An open store that this process alone writes to.

    Attributes:
        directory: where it is.
        asked: the study.
        records: what is in it, each host once.
        cut: bytes of a torn end that were cut off when it was opened.
    """

    def __init__(self, directory: Path, asked: Asked, file: IO[bytes], records: list[Record], cut: int) -> None:
        self.directory, self.asked, self.cut = directory, asked, cut
        self._file, self._records = file, records

    @property
    def records(self) -> tuple[Record, ...]:
        return merged(self._records)

    def append(self, records: Sequence[Record]) -> None:
        """Write records so that they outlive this process and the machine's power; all of a repetition at once."""
        self._file.write(b"".join(encode(record) for record in records))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._records.extend(records)

    def append_host(self, host: Host) -> None:
        """Write what is known of a host, unless it is there already."""
        known = [record for record in self.records if isinstance(record, Host) and record.key == host.key]
        if not known or merged([*known, host]) != tuple(known):
            self.append([host])


@contextmanager
def open_store(directory: Path, asked: Asked | None, *, replayed: bool) -> Iterator[Store]:
    """The store, made if it is not there, locked as long as the context lasts.

    Args:
        asked: the study; None for the one that the store holds.
        replayed: whether a replay is going to write to it.

    Raises:
        UsageError: if the directory holds something else, another study, or is to be made and no study was named.
        UnreadableError: if the store is damaged.
        KerntraceError: if another runner has it.
    """
    if (directory / PACKED).is_file():
        raise UsageError(f"{directory.name} is a packed study, which is only read", "Name another directory with -o.")
    if not (directory / PLAN).is_file():
        _make(directory, asked, replayed)
    try:
        file = (directory / RECORDS).open("a+b")
    except OSError as error:
        raise UsageError(f"{directory.name} cannot be written: {error.strerror}", "Name another -o.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise KerntraceError(f"another run writes to {directory.name}", "Wait until it ends, or name another -o.") from None
        yield _opened(directory, asked, file, replayed)


def _opened(directory: Path, asked: Asked | None, file: IO[bytes], replayed: bool) -> Store:
    plan, digest, was_replayed = _read_resolved(directory)
    if asked is not None and plan_digest(asked.plan) != digest:
        raise UsageError(
            f"{directory.name} holds another study ({plan.name}, plan {digest[:12]})",
            "A plan is fixed before its first measurement: name another -o, or leave the study out to resume this one.",
        )
    if was_replayed != replayed:
        kinds = "replayed records, and cannot take measured ones" if was_replayed else "measured records, and no replayed ones"
        raise UsageError(f"{directory.name} holds {kinds}", "Name another directory with -o.")
    file.seek(0)
    data = file.read()
    records, good = decode_all(data, f"{directory.name}/{RECORDS}")
    if good < len(data):
        file.truncate(good)
        os.fsync(file.fileno())
    return Store(directory, asked or as_given(directory, plan), file, records, len(data) - good)


def as_given(directory: Path, plan: Plan) -> Asked:
    """The study that a store holds; its file may have been lost, and is then known by its plan alone."""
    try:
        source = (directory / SOURCE).read_bytes()
    except FileNotFoundError:
        source = b""
    return replace(parse_plan(source, f"{directory.name}/{SOURCE}"), plan=plan) if source else Asked(plan, source, plan.model)


def read_study(directory: Path) -> Study:
    """A store, or a packed one (records.jsonl.gz), as it is now; a runner may be writing to it.

    Raises:
        UnreadableError: if it is no store, is damaged, or is of a newer kerntrace.
    """
    if not (directory / PLAN).is_file():
        hint = "Name a directory that `kerntrace study run -o` made; kerntrace report TRACE and steps TRACE read traces."
        raise UnreadableError(f"{directory.name} holds no study", hint)
    plan, digest, replayed = _read_resolved(directory)
    packed = directory / PACKED
    name = PACKED if packed.is_file() else RECORDS
    try:
        data = _unpacked(packed) if packed.is_file() else (directory / RECORDS).read_bytes()
    except FileNotFoundError:
        data = b""
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"{directory.name}/{name} cannot be read: {error}", "Take the store from a copy.") from None
    records, _ = decode_all(data, f"{directory.name}/{name}")
    return Study(plan, digest, merged(records), replayed)


def merged(records: Sequence[Record]) -> tuple[Record, ...]:
    """The records with each host once, at its first place, knowing all that was written of it."""
    hosts: dict[str, Host] = {}
    for record in records:
        if isinstance(record, Host):
            old = hosts.get(record.key)
            hosts[record.key] = record if old is None else _joined(old, record)
    seen: set[str] = set()
    found: list[Record] = []
    for record in records:
        if isinstance(record, Host):
            if record.key in seen:
                continue
            seen.add(record.key)
            record = hosts[record.key]
        found.append(record)
    return tuple(found)


def _joined(old: Host, new: Host) -> Host:
    """Both hosts' facts; where one differs, every value that it had. Joining what was joined before changes nothing."""
    return replace(new, versions=_both(old.versions, new.versions), settings=_both(old.settings, new.settings))


def _both(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    found = dict(old)
    for name, said in new.items():
        values = found[name].split(IN_TURN) if name in found else []
        for value in said.split(IN_TURN):
            if not any(_says(one, value) for one in values):
                values = [*(one for one in values if not _says(value, one)), value]
        found[name] = IN_TURN.join(values)
    return found


def _says(one: str, other: str) -> bool:
    """Whether a value tells all that another does: a version may leave out what it was built for."""
    return one == other or one.startswith(f"{other}+")


def _make(directory: Path, asked: Asked | None, replayed: bool) -> None:
    """Begin a store: the plan and its hash are on disk before anything is measured."""
    if directory.exists() and (not directory.is_dir() or {path.name for path in directory.iterdir()} - {SOURCE, f".{PLAN}"}):
        raise UsageError(f"{directory.name} exists already and is no study", "Name another directory with -o.")
    if asked is None:
        raise UsageError("no study is named, and there is none to resume", "Name a preset or a STUDY.toml.")
    resolved = _Resolved(
        SCHEMA, VERSION, plan_digest(asked.plan), replayed, f"kerntrace {__version__}", msgspec.Raw(plan_bytes(asked.plan))
    )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / SOURCE).write_bytes(asked.source)
        draft = directory / f".{PLAN}"
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(resolved) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(directory / PLAN)
    except OSError as error:
        raise UsageError(f"{directory.name} cannot be written: {error.strerror}", "Name another -o.") from None


def _read_resolved(directory: Path) -> tuple[Plan, str, bool]:
    where = f"{directory.name}/{PLAN}"
    try:
        data = (directory / PLAN).read_bytes()
        tag = msgspec.json.decode(data, type=_Tag)
        if tag.schema != SCHEMA:
            raise UnreadableError(f"{where} is not a study's plan", "Name a directory that `kerntrace study run -o` made.")
        if tag.version > VERSION:
            raise UnreadableError(f"{where} is of version {tag.version}, newer than this kerntrace", "Upgrade kerntrace.")
        resolved = msgspec.json.decode(data, type=_Resolved)
        plan = msgspec.json.decode(bytes(resolved.plan), type=Plan)
    except OSError as error:
        raise UnreadableError(f"{where} cannot be read: {error.strerror}", "") from None
    except msgspec.DecodeError as error:
        raise UnreadableError(f"{where} is damaged: {error}", "Take the store from a copy.") from None
    if hashlib.sha256(bytes(resolved.plan)).hexdigest() != resolved.plan_sha256:
        raise UnreadableError(f"{where} was changed after the study began: its hash does not match", "Take it from a copy.")
    return plan, resolved.plan_sha256, resolved.replayed


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UnreadableError(f"{path.name} unpacks to more than {_LARGEST >> 30} GiB", "It is no study of ours.")
    return data
