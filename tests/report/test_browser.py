"""The page in a headless Chromium, opened from disk: what is drawn, hovered, zoomed, filtered and printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import TRACES, made

from kerntrace.ingest.open_any import open_any
from kerntrace.units import duration

pytestmark = pytest.mark.browser

_SHOWN = """() => {
    const texts = [];
    const walk = (node) => {
        if (node.classList?.contains('bk-Tooltip')) texts.push(text(node.shadowRoot ?? node));
        for (const child of [...(node.shadowRoot?.children ?? []), ...node.children]) walk(child);
    };
    const text = (node) => {
        let said = '';
        for (const child of node.childNodes) {
            if (child.nodeType === 3) said += child.textContent;
            else if (!['STYLE', 'LINK'].includes(child.tagName)) said += ' ' + text(child.shadowRoot ?? child);
        }
        return said;
    };
    walk(document.body);
    return texts.join(' ').replace(/\\s+/g, ' ');
}"""
_FRAME = """(id) => {
    const view = Bokeh.index.get(kerntrace.drawn.get(id));
    const outer = document.querySelector(`#${id} > *`).getBoundingClientRect();
    const { left, top, width, height } = view.frame.bbox;
    return { x: outer.left + left, y: outer.top + top, width, height };
}"""


@dataclass
class Opened:
    """A page, and what its browser complained of or asked for."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def opened(chromium: Any, path: Path, **settings: Any) -> Opened:
    """The page from file://, once every figure is drawn."""
    found = Opened(chromium.new_page(viewport={"width": 1280, "height": 800}, **settings))
    found.page.on("console", lambda said: found.errors.append(said.text) if said.type in ("error", "warning") else None)
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.goto(path.as_uri())
    found.page.wait_for_function("document.documentElement.dataset.drawn === 'yes'", timeout=60_000)
    return found


@pytest.fixture(scope="module")
def shown(chromium: Any, pair: Path) -> Iterator[Opened]:
    found = opened(chromium, pair)
    yield found
    found.page.close()


def look_at(page: Any, letter: str, choose: str) -> dict[str, Any]:
    """Zoom a timeline to the first mark that fulfils a condition and point at its middle."""
    plot = f"plot-timeline-{letter}"
    page.locator(f"#{plot}").scroll_into_view_if_needed()
    mark: dict[str, Any] = page.evaluate(
        f"""() => {{
            const line = kerntrace.lines.get('{letter}'), c = line.strip.columns;
            const kind_of = (i) => line.classes[c.kind[i]], name_of = (i) => line.strip.strings[c.name[i]];
            const is = (i, kind = kind_of(i), name = name_of(i)) => {choose};
            let i = 0;
            while (!is(i)) i++;
            line.plot.x_range.setv({{ start: c.start[i] - 2 * c.length[i], end: c.start[i] + 3 * c.length[i] }});
            return {{ lane: c.lane[i], lanes: line.strip.lanes.length, start: c.start[i], length: c.length[i],
                      origin: line.strip.origin_ns, name: line.strip.strings[c.name[i]] }};
        }}"""
    )
    page.wait_for_timeout(300)
    frame = page.evaluate(_FRAME, plot)
    mark["x"] = frame["x"] + frame["width"] / 2
    mark["y"] = frame["y"] + frame["height"] * (mark["lane"] + 0.5) / mark["lanes"]
    page.mouse.move(mark["x"] - 4, mark["y"])
    page.mouse.move(mark["x"], mark["y"])
    page.wait_for_timeout(300)
    return mark


def test_it_loads_without_complaint_or_request(shown: Opened, pair: Path) -> None:
    assert shown.errors == []
    assert shown.requests == [pair.as_uri()]
    waiting = shown.page.locator(".plot.waiting").count()
    assert waiting == 0


def test_hovering_tells_the_kernel_and_its_duration(shown: Opened) -> None:
    mark = look_at(shown.page, "a", "kind === 'matrix product' && i > 50")
    trace = open_any(TRACES / "h200-native-eager.ktrace")
    kernels, calls = trace.kernels, trace.api_calls
    rows = kernels.ints("start_ns") == mark["start"] + mark["origin"]
    assert rows.sum() == 1
    row = int(rows.argmax())
    length = int(kernels.ints("end_ns")[row] - kernels.ints("start_ns")[row])
    name = kernels.names("name").text(row)
    assert name is not None
    text = shown.page.evaluate(_SHOWN)
    assert name[:60] in text
    assert f"{duration(length)} ({length:,} ns)" in text
    launch = int((calls.ints("correlation_id") == kernels.ints("correlation_id")[row]).argmax())
    before = int(kernels.ints("start_ns")[row] - calls.ints("start_ns")[launch])
    lasted = int(calls.ints("end_ns")[launch] - calls.ints("start_ns")[launch])
    assert f"{calls.names('name').text(launch)} ({duration(lasted)}), {duration(before)} before it started" in text


def test_hovering_a_gap_tells_its_cause(shown: Opened) -> None:
    mark = look_at(shown.page, "a", "kind === 'host_wait' && c.length[i] > 20000")
    text = shown.page.evaluate(_SHOWN)
    assert "waiting: host had not launched" in text
    assert f"{duration(mark['length'])} of an idle gap of" in text
    assert "ended by work of cudaLaunchKernel" in text


def test_a_click_keeps_a_graph_replay_and_links_it_to_its_launch(shown: Opened) -> None:
    mark = look_at(shown.page, "b", "kind === 'replay'")
    shown.page.mouse.click(mark["x"], mark["y"])
    told = shown.page.locator("#timeline-b .inspector").inner_text()
    assert re.search(r"graph replay of 4\d\d nodes", told)
    assert "one launch, 4" in told
    assert "launch: cudaGraphLaunch" in told
    link = shown.page.evaluate("() => [...kerntrace.lines.get('b').links.data.x]")
    assert link[1] == mark["start"]
    assert link[0] < link[1]


def test_wheel_keys_and_buttons_zoom_and_pan(shown: Opened) -> None:
    page, span = shown.page, "(() => { const r = kerntrace.lines.get('a').plot.x_range; return r.end - r.start; })()"
    start = "kerntrace.lines.get('a').plot.x_range.start"
    page.locator("#timeline-a button[data-act=whole]").click()
    whole = page.evaluate(span)
    frame = page.evaluate(_FRAME, "plot-timeline-a")
    page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + 40)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    page.wait_for_timeout(200)
    assert page.evaluate(span) < whole
    page.locator("#plot-timeline-a").focus()
    page.keyboard.press("0")
    page.keyboard.press("+")
    assert page.evaluate(span) == pytest.approx(whole / 2)
    before = page.evaluate(start)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(start) == pytest.approx(before + 0.3 * whole / 2)
    page.keyboard.press("]")
    chosen = page.locator("#timeline-a select.steps").input_value()
    page.keyboard.press("]")
    assert page.locator("#timeline-a select.steps").input_value() == str(int(chosen) + 1)


def test_the_wheel_alone_scrolls_the_page(shown: Opened) -> None:
    page = shown.page
    page.locator("#plot-timeline-a").scroll_into_view_if_needed()
    frame = page.evaluate(_FRAME, "plot-timeline-a")
    before = page.evaluate("[kerntrace.lines.get('a').plot.x_range.end, scrollY]")
    page.mouse.move(frame["x"] + 200, frame["y"] + 40)
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(300)
    after = page.evaluate("[kerntrace.lines.get('a').plot.x_range.end, scrollY]")
    assert after[0] == before[0]
    assert after[1] > before[1]


def test_another_cell_of_the_timeline(shown: Opened) -> None:
    page = shown.page
    page.locator("#timeline-a select.strips").select_option(label="batch 16")
    steps = page.locator("#timeline-a select.steps option").all_inner_texts()
    first = int(re.match(r"step (\d+)", steps[0])[1])  # type: ignore[index]
    assert first >= 35  # the trace's batch 16 begins there
    assert int(page.locator("#plot-timeline-a").get_attribute("data-marks")) > 0
    page.locator("#timeline-a select.strips").select_option(label="batch 1")


def test_the_table_filters_and_sorts(shown: Opened) -> None:
    page = shown.page
    rows = page.locator("#kernel-table tbody tr:visible")
    search = page.locator("#kernels input[type=search]")
    search.fill("attention FA3")
    texts = rows.all_inner_texts()
    assert texts
    assert all("attention FA3" in text for text in texts)
    search.fill("no such kernel")
    assert rows.count() == 0
    search.fill("")
    page.locator("#kernels select[data-column=trace]").select_option("b")
    page.locator("#kernel-table th", has_text="median").locator("button").click()
    values = page.evaluate(
        "[...document.querySelectorAll('#kernel-table tbody tr:not([hidden])')]"
        ".map((row) => Number(row.querySelector('[data-key$=\".median_ns\"]').value))"
    )
    assert values == sorted(values, reverse=True)
    assert len(values) > 10
    page.locator("#kernel-table th", has_text="median").locator("button").click()
    assert page.evaluate(
        "document.querySelector('#kernel-table tbody tr:not([hidden]) [data-key$=\".median_ns\"]').value"
    ) == str(min(values))


def test_cells_are_tabs_that_keys_reach(shown: Opened) -> None:
    page = shown.page
    assert page.locator("#cell-0").is_visible()
    assert not page.locator("#cell-1").is_visible()
    page.locator("[role=tab]").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#cell-1").is_visible()
    assert not page.locator("#cell-0").is_visible()


def test_the_theme_follows_the_system_and_the_button(chromium: Any, refused: Path) -> None:
    found = opened(chromium, refused, color_scheme="dark")
    page = found.page
    ink = "kerntrace.drawn.get('plot-steps-a').left[0].major_label_text_color"
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(ink) == "#e4e9ee"
    page.locator("#theme").click()
    assert page.evaluate(ink) == "#16202b"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.close()


def test_it_prints_light_with_all_cells_and_the_rows_chosen(chromium: Any, pair: Path) -> None:
    found = opened(chromium, pair, color_scheme="dark")
    page = found.page
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#cell-1").is_visible()
    assert not page.locator("nav").is_visible()
    shown, held = (page.locator(f"#kernel-table tbody tr{which}").count() for which in (":visible", ""))
    assert 0 < shown < held
    page.close()


def test_hostile_names_are_shown_as_text(chromium: Any, hostile: Path) -> None:
    found = opened(chromium, hostile)
    page = found.page
    alerts: list[str] = []
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    assert page.locator("#kernel-table tbody", has_text="<script>alert(1)</script>").count() == 1
    mark = look_at(page, "a", "name === '<script>alert(1)</script>' && kind === 'other kernel'")
    assert "<script>alert(1)</script>" in page.evaluate(_SHOWN)
    page.mouse.click(mark["x"], mark["y"])
    assert page.locator("#timeline-a .inspector").inner_text().startswith("<script>alert(1)</script>")
    assert alerts == []
    assert found.errors == []
    page.close()


def test_a_refusal_is_the_first_thing_seen(chromium: Any, refused: Path) -> None:
    found = opened(chromium, refused)
    box = found.page.locator(".refusal").bounding_box()
    assert box["y"] < 300
    assert found.errors == []
    found.page.close()


@pytest.fixture(scope="module")
def early(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """The first steps of a trace, not all of which are steady."""
    where = tmp_path_factory.mktemp("early")
    found = opened(chromium, made(where, TRACES / "h200-native-eager.ktrace", "--steps", "0-3"))
    yield found
    found.page.close()


def test_hovering_a_step_left_out_tells_why(early: Opened) -> None:
    look_at(early.page, "a", "kind === 'step' && i === 0")
    text = early.page.evaluate(_SHOWN)
    assert "step 0: prefill" in text
    assert "left out of headline figures: prefill step" in text


def test_keys_go_from_step_to_step_and_tell_each(early: Opened) -> None:
    page = early.page
    page.locator("#plot-timeline-a").focus()
    told = page.locator("#timeline-a .inspector")
    for key, number, said in (("]", 2, "steady"), ("[", 1, "left out of headline figures: next to"), ("[", 0, "prefill step")):
        page.keyboard.press(key)
        assert f"step {number}: " in told.inner_text()
        assert said in told.inner_text()
    page.keyboard.press("Escape")
    assert "Click a mark" in told.inner_text()
    options = page.locator("#timeline-a select.steps option").all_inner_texts()
    assert [option.endswith(", left out") for option in options] == [True, True, False, False]


def test_on_a_narrow_screen_only_tables_scroll_and_keys_reach_them(chromium: Any, pair: Path) -> None:
    found = opened(chromium, pair)
    found.page.set_viewport_size({"width": 390, "height": 800})
    found.page.wait_for_timeout(300)
    assert found.page.evaluate("document.documentElement.scrollWidth") == 390
    wide = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert found.page.evaluate(f"{wide}.length") > 3
    assert found.page.evaluate(f"{wide}.every((one) => one.tabIndex === 0 && one.getAttribute('aria-label'))")
    found.page.close()
