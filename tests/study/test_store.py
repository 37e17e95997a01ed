"""The store: what is written comes back, what was torn is cut, what is damaged is told, and nobody writes beside another."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.study_stores import SOURCE, asked, hosts, recorded, write_recorded

from kerntrace.errors import KerntraceError, UnreadableError, UsageError
from kerntrace.study import lines
from kerntrace.study.plan import parse_plan
from kerntrace.study.records import Host, LeftOut, Record, Wall
from kerntrace.study.store import PACKED, PLAN, RECORDS, open_store, read_study

HOST = hosts(1)[0]
texts, counts = st.text(max_size=12), st.integers(0, 2**62)
walls = st.builds(
    Wall, texts, texts, counts, counts, counts, counts, counts, counts, counts, st.none() | counts, st.none() | counts,
    st.none() | st.integers(-50, 200), texts,
)  # fmt: skip
others = st.builds(
    Host, texts, texts, st.none() | texts, st.dictionaries(texts, texts), st.dictionaries(texts, texts)
) | st.builds(LeftOut, texts, st.none() | texts, counts, counts, texts)


@given(walls | others)
def test_a_record_comes_back_from_its_line(record: Record) -> None:
    line = lines.encode(record)
    assert line.count(b"\n") == 1
    assert lines.decode(line[:-1]) == record


@given(walls | others, st.data())
def test_a_line_that_was_changed_is_found_out(record: Record, data: st.DataObject) -> None:
    line = bytearray(lines.encode(record)[:-1])
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] ^= 1 << data.draw(st.integers(0, 7))
    with contextlib.suppress(ValueError):
        assert lines.decode(bytes(line)) == record  # a bit that does not count, e.g. of a key's escape


def test_a_store_gives_back_what_was_put_in(tmp_path: Path) -> None:
    there = write_recorded(tmp_path / "store", 2)
    study = read_study(tmp_path / "store")
    assert study.records == there
    assert study.plan == asked().plan
    assert not study.replayed
    assert (tmp_path / "store" / "study.toml").read_bytes() == SOURCE


def test_plan_and_hash_are_there_before_the_first_record(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", asked(), replayed=False) as store:
        said = json.loads((tmp_path / "store" / PLAN).read_text())
        assert said["plan_sha256"] == read_study(tmp_path / "store").plan_sha256
        assert store.records == ()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("finished") / "store"
    write_recorded(place)
    return place


def cut_store(finished: Path, place: Path, length: int) -> Path:
    shutil.copytree(finished, place)
    data = (finished / RECORDS).read_bytes()
    (place / RECORDS).write_bytes(data[:length])
    return place


def test_a_store_cut_anywhere_opens_with_whole_repetitions(finished: Path, tmp_path: Path) -> None:
    data = (finished / RECORDS).read_bytes()
    whole = recorded(asked().plan, HOST)
    sizes = [len(lines.encode(record)) for record in whole]
    ends = [sum(sizes[:count]) for count in range(len(sizes) + 1)]
    for length in [*range(ends[2], ends[5], 37), *(end for end in ends[2:7]), *(end + 1 for end in ends[3:7])]:
        found, good = lines.decode_all(data[:length], "store")
        count = sum(end <= length for end in ends[1:])
        if count > 2 and (count - 2) % 2:
            count -= 1
        assert found == whole[:count]
        assert good == ends[count]
    place = cut_store(finished, tmp_path / "store", ends[5] + 10)
    with open_store(place, None, replayed=False) as store:
        assert store.cut == ends[5] + 10 - ends[4]
        assert store.records == tuple(whole[:4])
        store.append(whole[4:6])
    assert (place / RECORDS).read_bytes() == data[: ends[6]]


def test_zeros_at_the_end_are_a_torn_line(finished: Path, tmp_path: Path) -> None:
    length = len((finished / RECORDS).read_bytes())
    place = cut_store(finished, tmp_path / "store", length)
    with (place / RECORDS).open("ab") as file:
        file.write(bytes(4096))
    with open_store(place, None, replayed=False) as store:
        assert store.cut == 4096
    assert (place / RECORDS).stat().st_size == length


def damaged_line(place: Path) -> None:
    data = (place / RECORDS).read_bytes().split(b"\n")
    data[3] = data[3].replace(b'"wall_ns":', b'"wall_ns":1', 1)
    (place / RECORDS).write_bytes(b"\n".join(data))


def changed_plan(place: Path) -> None:
    text = (place / PLAN).read_text()
    assert '"seed":5' in text
    (place / PLAN).write_text(text.replace('"seed":5', '"seed":6'))


def newer(place: Path) -> None:
    (place / PLAN).write_text((place / PLAN).read_text().replace('"version":1', '"version":2'))


def foreign(place: Path) -> None:
    (place / PLAN).write_text('{"schema": "another"}')


def garbled(place: Path) -> None:
    (place / PLAN).write_bytes(b"\x00\xff")


def bad_gzip(place: Path) -> None:
    (place / PACKED).write_bytes(b"no gzip")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (damaged_line, "line 4 is damaged: its checksum does not match"),
        (changed_plan, "its hash does not match"),
        (newer, "is of version 2, newer than this kerntrace"),
        (foreign, "is not a study's plan"),
        (garbled, "is damaged"),
        (bad_gzip, "cannot be read"),
    ],
)
def test_damage_is_told_in_one_line(finished: Path, tmp_path: Path, damage: Callable[[Path], None], said: str) -> None:
    place = tmp_path / "store"
    shutil.copytree(finished, place)
    damage(place)
    with pytest.raises(UnreadableError) as caught:
        read_study(place)
    assert said in caught.value.what
    assert "\n" not in caught.value.what
    assert str(tmp_path) not in caught.value.what


def test_a_packed_study_is_read_and_not_resumed(finished: Path, tmp_path: Path) -> None:
    place = tmp_path / "store"
    shutil.copytree(finished, place)
    (place / PACKED).write_bytes(gzip.compress((place / RECORDS).read_bytes()))
    (place / RECORDS).unlink()
    assert read_study(place) == read_study(finished)
    with pytest.raises(UsageError, match="packed"), open_store(place, None, replayed=False):
        pass


def test_two_runners_do_not_write_one_store(tmp_path: Path) -> None:
    with (
        open_store(tmp_path / "store", asked(), replayed=False),
        pytest.raises(KerntraceError, match="another run writes to store"),
        open_store(tmp_path / "store", asked(), replayed=False),
    ):
        pass
    with open_store(tmp_path / "store", asked(), replayed=False) as store:
        assert store.records == ()


def test_another_plan_is_refused(tmp_path: Path) -> None:
    write_recorded(tmp_path / "store")
    other = parse_plan(SOURCE.replace(b"seed = 5", b"seed = 6"), "other.toml")
    with pytest.raises(UsageError, match="holds another study"), open_store(tmp_path / "store", other, replayed=False):
        pass
    with pytest.raises(UsageError, match="measured records"), open_store(tmp_path / "store", asked(), replayed=True):
        pass


def test_a_directory_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is no study"), open_store(tmp_path, asked(), replayed=False):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(UsageError, match="none to resume"), open_store(tmp_path / "new", None, replayed=False):
        pass


def test_what_a_host_had_in_turn_is_said_once_and_joined_again_stays(tmp_path: Path) -> None:
    with open_store(tmp_path / "store", asked(), replayed=False) as store:
        for torch in ("2.11.0", "2.11.0+cu130", "2.11.0", "2.12.0"):  # the short form tells nothing new
            store.append_host(replace(HOST, versions={"torch": torch}, settings={"device": f"card of {torch[:4]}"}))
        (host,) = store.records
        assert isinstance(host, Host)
        assert host.versions == {"torch": "2.11.0+cu130 | 2.12.0"}
        assert host.settings == {"device": "card of 2.11 | card of 2.12"}
        size = (tmp_path / "store" / RECORDS).stat().st_size
        store.append_host(host)
        store.append_host(replace(host, settings={"device": "card of 2.12 | card of 2.11"}))
    assert (tmp_path / "store" / RECORDS).stat().st_size == size


def test_a_host_is_one_record_that_knows_all_that_was_said_of_it(tmp_path: Path) -> None:
    wall = next(record for record in recorded(asked().plan, HOST) if isinstance(record, Wall))
    with open_store(tmp_path / "store", asked(), replayed=False) as store:
        store.append_host(HOST)
        store.append([wall, replace(wall, tokens=9)])
        store.append_host(replace(HOST, versions={"torch": "2.11.0"}, settings={"device": "a"}))
        store.append_host(replace(HOST, settings={"device": "b"}))
        store.append_host(replace(HOST, settings={"device": "b"}))
    found = read_study(tmp_path / "store").records
    assert isinstance(found[0], Host)
    assert found[0].versions == {"vllm": "0.24.0", "torch": "2.11.0"}
    assert found[0].settings == {"governor": "performance", "device": "a | b"}
    assert len(found) == 3
    assert len((tmp_path / "store" / RECORDS).read_bytes().splitlines()) == 5
