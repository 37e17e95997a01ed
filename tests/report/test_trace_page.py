"""What a page says, and what it must not: refusals first, hostile names as text, nothing from elsewhere."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from tests.report.conftest import made
from tests.support.bundles import HOSTILE
from tests.support.command import called
from tests.support.pages import read_page
from tests.support.recording import Playing, decode_range

from kerntrace.report.html.kernel_rows import MOST_ROWS
from kerntrace.trace.bundle import write_bundle


def test_the_sentence_gives_the_verdict(pair: Path) -> None:
    text = " ".join(read_page(pair).text.split())
    assert re.search(r"Eager step 16\.\d{3} ms: GPU busy 4\.\d{3} ms, waiting for the host 11\.\d{3} ms, of which", text)
    assert re.search(
        r"inside the step: dispatch-bound; graph takes 11\.\d{3} ms less \(11\.\d{3} ms waiting for the host, 0\.\d{3} ms GPU",
        text,
    )
    assert re.search(r"Graph step 4\.\d{3} ms: .*?GPU-bound\.", text)
    assert "dilation 1.25" in text


def test_a_refusal_comes_first_and_only_the_sound_trace_is_drawn(refused: Path) -> None:
    page = read_page(refused)
    text = " ".join(page.text.split())
    told = text.index("No figure is given for refused.ktrace")
    assert "dropped-records" in text[told:]
    assert told < text.index("step wall")
    assert "figure-steps-a" in page.held
    assert "figure-steps-b" not in page.held
    assert not any(number.attributes.get("data-key", "").startswith(("b.", "compare")) for number in page.numbers)


def test_a_refused_trace_alone_has_no_figure(tmp_path: Path, bundles: Path) -> None:
    page = read_page(made(tmp_path, bundles / "refused.ktrace", status=3))
    assert page.numbers == []
    assert page.held == {}
    assert "No figure is given" in page.text
    assert "12 integrity rules" in page.text or "integrity rules: some refuse" in page.text


def test_hostile_names_are_text(hostile: Path) -> None:
    raw = hostile.read_text(encoding="utf-8")
    page = read_page(hostile)
    assert "<script>alert(1)</script>" not in raw
    assert "<script>alert(1)</script>" in page.text
    assert page.tags.count("script") == len(page.held) + 5
    assert not any(name.startswith("on") for _, name, _ in page.attributes)
    strings = page.held["timeline-data-a"]["strips"][0]["strings"]
    assert all(text.isprintable() for text in strings)
    assert "<script>alert(1)</script>" in strings


def test_a_name_too_long_is_cut_with_the_hash_of_the_whole(hostile: Path) -> None:
    longest = max(HOSTILE, key=len)
    page = read_page(hostile)
    assert f"[{len(longest)} characters, sha256 {sha256(longest.encode()).hexdigest()}]" in page.text
    assert hostile.stat().st_size < 3_000_000


def test_nothing_is_fetched(pair: Path) -> None:
    page = read_page(pair)
    fetched = {"src", "href", "action", "data", "poster", "srcset"}
    links = [value for _, name, value in page.attributes if name in fetched]
    assert links
    assert all(value.startswith(("#", "data:,")) for value in links)
    policy = next(value for tag, name, value in page.attributes if tag == "meta" and value.startswith("default-src"))
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_the_same_trace_gives_the_same_numbers_and_no_path(tmp_path: Path, bundles: Path) -> None:
    page = made(tmp_path, bundles / "eager.ktrace")
    assert str(bundles) not in page.read_text(encoding="utf-8")


def test_steps_without_ranges_are_reported(tmp_path: Path, bundles: Path) -> None:
    ran = called("report", bundles / "unstepped.ktrace", "-o", tmp_path / "report.html")
    assert "no steps found" in ran.complaint(1)
    page = read_page(made(tmp_path, bundles / "unstepped.ktrace", "--step-range", "work"))
    assert "figure-steps-a" in page.held


def test_every_figure_has_an_alternative_text(pair: Path) -> None:
    page = read_page(pair)
    plots = [value for tag, name, value in page.attributes if tag == "div" and name == "data-figure"]
    labels = [value for tag, name, value in page.attributes if tag == "div" and name == "aria-label" and value]
    assert len(plots) == len([name for name in page.held if name.startswith("figure-")])
    assert len(labels) >= len(plots)


def test_a_second_trace_that_takes_longer_is_said_to(tmp_path: Path, bundles: Path) -> None:
    text = " ".join(read_page(made(tmp_path, bundles / "graph.ktrace", bundles / "eager.ktrace")).text.split())
    assert re.search("takes longer \\(A \N{MINUS SIGN} B: \N{MINUS SIGN}\\d+\\.\\d{3} ms;", text)


def test_a_trace_of_very_many_kernel_names_lists_those_with_most_time(tmp_path: Path) -> None:
    play = Playing()
    for _ in range(3):
        with play.within(decode_range(1)):
            for number in range(MOST_ROWS + 5):
                play.launch(f"kernel_{number}_name", 10 + number)
        play.synchronise()
    write_bundle(play.build(), tmp_path / "names.ktrace")
    text = " ".join(read_page(made(tmp_path, tmp_path / "names.ktrace")).text.split())
    assert f"Of each cell the {MOST_ROWS} kernels with most time are listed; 5 more names" in text
    rows = [number for number in range(MOST_ROWS + 5) if f"kernel_{number}_name" in text.partition("Kernels by time")[2]]
    assert rows == list(range(5, MOST_ROWS + 5))
