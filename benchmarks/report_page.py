"""How a report behaves in Chromium: size, first paint, and the long tasks of drawing, panning and zooming its timeline.

python benchmarks/report_page.py report.html
python benchmarks/report_page.py --all-steps report.html       pan with every step of the strip in view

It needs playwright and a Chromium (`--browser`, else the one on PATH). Standard output is one line of JSON. A long task is
one over 50 ms, as PerformanceObserver reports them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

_OBSERVE = """() => {
    window.longTasks = [];
    new PerformanceObserver((list) => { for (const task of list.getEntries()) window.longTasks.push(task.duration); })
        .observe({ type: 'longtask', buffered: true });
}"""
_FRAMES = """() => {
    window.longTasks.length = 0;
    window.frames_ms = [];
    let before = performance.now();
    const step = () => {
        const now = performance.now();
        window.frames_ms.push(now - before);
        before = now;
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
}"""
_SEEN = "() => ({ longTasks: window.longTasks.slice(), frames: window.frames_ms.slice() })"


def measure(page: Any, path: Path, all_steps: bool) -> dict[str, Any]:
    """Load a report and move its first timeline about."""
    page.add_init_script(f"({_OBSERVE})()")
    began = time.perf_counter()
    page.goto(path.resolve().as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'", timeout=60_000)
    found: dict[str, Any] = {
        "file": path.name,
        "bytes": path.stat().st_size,
        "first_paint_ms": page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"),
        "all_drawn_s": round(time.perf_counter() - began, 2),
        "loading": summary(page.evaluate("window.longTasks.slice()")),
    }
    plot = page.locator(".timeline .plot").first
    plot.scroll_into_view_if_needed()
    if all_steps:
        page.locator(".timeline button[data-act=whole]").first.click()
    page.wait_for_timeout(500)
    found["marks_drawn"] = int(plot.get_attribute("data-marks"))
    found["pan"] = act(page, lambda: drag(page, plot))
    found["zoom"] = act(page, lambda: wheel(page, plot))
    return found


def act(page: Any, what: Any) -> dict[str, Any]:
    """Long tasks and frames while something is done."""
    page.evaluate(_FRAMES)
    what()
    page.wait_for_timeout(300)
    seen = page.evaluate(_SEEN)
    frames = sorted(seen["frames"])
    return summary(seen["longTasks"]) | {"frames": len(frames), "median_frame_ms": round(frames[len(frames) // 2], 1)}


def summary(tasks: list[float]) -> dict[str, Any]:
    return {"long_tasks": len(tasks), "longest_ms": round(max(tasks, default=0))}


def drag(page: Any, plot: Any) -> None:
    """Pan to and fro by some 900 pixels."""
    box = plot.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for i in range(60):
        page.mouse.move(x - 15 * min(i, 60 - i), y)
        page.wait_for_timeout(16)
    page.mouse.up()


def wheel(page: Any, plot: Any) -> None:
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Control")
    for i in range(30):
        page.mouse.wheel(0, -120 if i < 15 else 120)
        page.wait_for_timeout(30)
    page.keyboard.up("Control")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("report", type=Path, nargs="+")
    parser.add_argument("--all-steps", action="store_true", help="pan and zoom with the whole strip in view")
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    asked = parser.parse_args()
    if not asked.browser:
        sys.exit("no Chromium found: give --browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=asked.browser, args=["--no-sandbox"])
        for path in asked.report:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            print(json.dumps(measure(page, path, asked.all_steps)), flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
