"""The one door: what a path holds is told by its content, and what cannot be opened is told in a line or two."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ingest.nsys_files import small_export

import kerntrace.ingest.private_copy as private_copy
from kerntrace.errors import UnreadableError
from kerntrace.ingest.open_any import OpenOptions, open_any
from kerntrace.trace.bundle import write_bundle

KINETO = {
    "schemaVersion": 1,
    "traceEvents": [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "gemm",
            "pid": 0,
            "tid": 7,
            "ts": 10.5,
            "dur": 2.25,
            "args": {"device": 0, "stream": 7, "correlation": 5},
        }
    ],
}


@pytest.fixture
def sqlite(tmp_path: Path) -> Path:
    return small_export().sqlite(tmp_path / "x.sqlite")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go; nothing may remain there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def refusal(path: Path, options: OpenOptions | None = None) -> UnreadableError:
    with pytest.raises(UnreadableError) as caught:
        open_any(path, options or OpenOptions())
    error = caught.value
    assert error.exit_code == 1
    assert error.hint
    assert max(map(len, str(error).splitlines())) < 400
    assert len(str(error).splitlines()) == 2
    return error


def compressed(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


@pytest.mark.parametrize("name", ["x.sqlite", "x.json", "x.nsys-rep", "x", "x.gz"])
def test_an_export_is_told_by_content_whatever_its_name(sqlite: Path, name: str) -> None:
    assert len(open_any(sqlite.rename(sqlite.with_name(name))).kernels) == 2


@pytest.mark.parametrize("name", ["x.sqlite.gz", "x.sqlite", "x.json"])
def test_a_gzipped_export_is_told_by_content(sqlite: Path, scratch: Path, name: str) -> None:
    assert len(open_any(compressed(sqlite).rename(sqlite.with_name(name))).kernels) == 2


def test_a_parquet_directory_opens(tmp_path: Path) -> None:
    assert len(open_any(small_export().parquet(tmp_path / "x_pqtdir")).kernels) == 2


def test_a_bundle_opens(sqlite: Path, tmp_path: Path) -> None:
    write_bundle(open_any(sqlite), tmp_path / "x.ktrace")
    assert len(open_any(tmp_path / "x.ktrace").kernels) == 2


def test_a_bundle_is_verified_when_asked(sqlite: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "x.ktrace"
    write_bundle(open_any(sqlite), bundle)
    manifest = bundle / "manifest.json"
    said = json.loads(manifest.read_bytes())
    said["tables"]["kernels"]["sha256"] = "0" * 64
    manifest.write_text(json.dumps(said))
    assert len(open_any(bundle).kernels) == 2
    assert "SHA-256" in refusal(bundle, OpenOptions(verify=True)).what


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b" \n\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_json_is_told_by_content(tmp_path: Path, before: bytes, packed: bool) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(before + json.dumps(KINETO).encode())
    assert len(open_any(compressed(path) if packed else path).kernels) == 1


def test_json_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(KINETO))
    refusal(path, OpenOptions(json_limit_bytes=50))


def test_nothing_there(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "x.sqlite").what


def test_something_under_a_file(sqlite: Path) -> None:
    refusal(sqlite / "inside")


def test_a_name_that_no_file_can_have() -> None:
    assert "is not a name" in refusal(Path("x\0.sqlite")).what


def test_a_name_too_long(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="cannot be read"):
        open_any(tmp_path / ("x" * 5000))


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").touch()
    assert "is empty" in refusal(tmp_path / "x.sqlite").what


def test_an_empty_gzip_file(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(b""))
    assert "is empty" in refusal(tmp_path / "x.gz").what


@pytest.mark.parametrize("kept", [2, 10, 11, 30, 0.5, 0.99])
def test_a_cut_gzip_file(sqlite: Path, scratch: Path, kept: float) -> None:
    packed = compressed(sqlite)
    whole = packed.read_bytes()
    packed.write_bytes(whole[: int(kept if kept > 1 else kept * len(whole))])
    assert "cut off" in refusal(packed).what


def test_a_gzip_file_with_a_wrong_checksum(sqlite: Path, scratch: Path) -> None:
    packed = compressed(sqlite)
    whole = packed.read_bytes()
    packed.write_bytes(whole[:-8] + bytes(4) + whole[-4:])
    assert "damaged" in refusal(packed).what


def test_a_gzip_file_of_damaged_data(sqlite: Path, scratch: Path) -> None:
    packed = compressed(sqlite)
    whole = bytearray(packed.read_bytes())
    whole[200:260] = b"\xff" * 60
    packed.write_bytes(whole)
    assert "damaged" in refusal(packed).what


def test_a_gzip_bomb_stops_at_the_limit(tmp_path: Path, scratch: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"SQLite format 3\0" + bytes(20 << 20)))
    with (
        pytest.raises(UnreadableError, match=r"unpacks to more than 5\.0 MB"),
        private_copy.unpacked(path, most_bytes=5_000_000),
    ):
        pass


def test_a_gzip_bomb_leaves_room_on_the_disk(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"SQLite format 3\0" + bytes(20 << 20)))
    with pytest.raises(UnreadableError, match="has room for"), private_copy.unpacked(path, spare_bytes=1 << 60):
        pass


def test_a_gzip_file_is_read_to_its_last_member(sqlite: Path, scratch: Path) -> None:
    whole = sqlite.read_bytes()
    packed = sqlite.with_name("x.gz")
    packed.write_bytes(gzip.compress(whole[:1000]) + gzip.compress(whole[1000:]))
    assert len(open_any(packed).kernels) == 2


def test_a_gzip_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"prose"))
    assert "not a trace of a known kind" in refusal(tmp_path / "x.gz").what


def test_a_gzip_file_in_a_gzip_file(sqlite: Path) -> None:
    assert "not a trace of a known kind" in refusal(compressed(compressed(sqlite))).what


@pytest.mark.parametrize(
    "content", [b"prose, nothing else", b"\x7fELF\x02\x01", b"\0" * 5000, b"<html>", "ядро".encode("utf-16")]
)
def test_unknown_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.sqlite").write_bytes(content)
    error = refusal(tmp_path / "x.sqlite")
    assert "not a trace of a known kind" in error.what
    assert "Kineto JSON" in error.hint


def test_archives_are_told_to_be_unpacked(sqlite: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(sqlite, "x.sqlite")
    assert "zip archive" in refusal(tmp_path / "x.zip").what
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive_of_tar:
        archive_of_tar.add(sqlite, "x.sqlite")
    refusal(tmp_path / "x.tar.gz")


@pytest.mark.parametrize(
    ("magic", "said"),
    [
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"ARROW1", "Arrow"),
        (b"PAR1", "single Parquet"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
    ],
)
def test_kinds_that_are_known_but_not_read(tmp_path: Path, magic: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(magic + bytes(100))
    assert said in refusal(tmp_path / "x").what


def test_a_raw_recording_is_told_to_be_imported(tmp_path: Path) -> None:
    path = tmp_path / "x.qdstrm"
    path.write_bytes(b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-234433681190v0!\n" + bytes(100))
    assert "QdstrmImporter" in refusal(path).hint


def test_a_directory_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert "directory that holds no trace" in refusal(tmp_path).what


def test_half_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "x.ktrace").mkdir()
    with pytest.raises(UnreadableError, match="manifest"):
        open_any(tmp_path / "x.ktrace")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    assert "neither a file nor a directory" in refusal(tmp_path / "x").what


def test_a_link_is_followed_and_a_circle_of_them_is_told(sqlite: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(sqlite)
    assert len(open_any(tmp_path / "link").kernels) == 2
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert "does not exist" in refusal(tmp_path / "dangling").what
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    refusal(tmp_path / "circle")


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_permission_denied(sqlite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """As root nothing is denied, so the refusal is played where the system would give it."""
    path = sqlite if kind == "file" else tmp_path

    def denied(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied) if kind == "file" else monkeypatch.setattr(os, "listdir", denied)
    error = refusal(path)
    assert "permission denied" in error.what
