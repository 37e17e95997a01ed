// The timelines: what hovering and clicking do, and how keys and buttons move the view.
"use strict";
(() => {
  const K = window.kerntrace;
  const { GAPS, duration, unpacked, class_of, marks_of, labels_of, describe } = K.marks;
  const RESTING = 180;       // ms without a move, after which hovering works again
  const lines = new Map();   // a or b -> its timeline

  function redraw(line, force) {
    const { x_range } = line.plot;
    const low = x_range.start, high = x_range.end, width = line.plot.inner_width || 1000;
    const zoom = (high - low) / width;
    const near = Math.abs(zoom - line.zoom) < 1e-9 * zoom && low >= line.from && high <= line.to;
    line.range.textContent = `${duration(Math.round(high - low))} shown, from ${duration(Math.round(low))}`;
    if (!force && near) {   // the marks are there already; the labels move to the view's edge once it rests
      clearTimeout(line.resting);
      line.resting = setTimeout(() => relabel(line, line.plot.x_range.start, line.plot.x_range.end, width), 150);
      return;
    }
    const { data, from, to } = marks_of(line, low, high, width);
    Object.assign(line, { zoom, from, to, shown: data });
    line.marks.data = data;
    relabel(line, low, high, width);
    line.element.dataset.marks = data.id.length;
  }
  function relabel(line, low, high, width) { line.labels.data = labels_of(line, line.shown, low, high, width); }
  // A view that moves passes under the pointer: nothing is told until it rests, for showing text lays the page out anew.
  function still(line) {
    if (line.hover.active) line.hover.active = false;
    clearTimeout(line.moving);
    line.moving = setTimeout(() => { line.hover.active = true; }, RESTING);
  }
  function later(line) {
    still(line);
    if (line.due) return;
    line.due = requestAnimationFrame(() => { line.due = 0; redraw(line, false); });
  }

  // The line from a launch call to the first operation it launched, whichever of the two is looked at.
  function link(line, i) {
    const { columns } = line.strip;
    const by = columns.by[i] >= 0 ? columns.by[i] : columns.id[i];
    const call = by >= 0 ? line.strip.of_id.get(by) : undefined;
    const own = columns.by[i] >= 0 && !GAPS.has(class_of(line, i));
    const first = by >= 0 ? (own ? i : line.strip.first_of.get(by)) : undefined;
    if (call === undefined || first === undefined) { unlink(line); return; }
    line.links.data = { x: [columns.start[call], columns.start[first]], y: [columns.lane[call] + 0.92, columns.lane[first] + 0.08] };
  }

  function unlink(line) { if (line.links.data.x?.length) line.links.data = { x: [], y: [] }; }

  function hover(letter, indices) {
    const line = lines.get(letter);
    if (!line || !line.shown) return;
    const at = indices?.[0];
    if (at === undefined) { if (line.pinned === undefined) unlink(line); return; }
    if (line.pinned === undefined && line.shown.count[at] === 1) link(line, line.shown.id[at]);
  }
  function tell(letter, at, field) {
    const line = lines.get(letter);
    const text = describe(line, line.shown.id[at], line.shown.count[at], line.shown.covered[at])[field] || "–";
    return text.length > 100 ? `${text.slice(0, 99)}…` : text;   // the whole name is shown on a click
  }

  function pin(line, at) {
    line.inspector.replaceChildren();
    if (at === undefined) {
      line.pinned = undefined;
      unlink(line);
      line.inspector.append("Click a mark to keep it here; hover for a short look.");
      return;
    }
    line.pinned = line.shown.id[at];
    if (line.shown.count[at] === 1) link(line, line.pinned);
    write(line, describe(line, line.pinned, line.shown.count[at], line.shown.covered[at]));
  }
  // What a mark is, below the figure, where a screen reader says it.
  function write(line, told) {
    line.inspector.replaceChildren();
    const name = document.createElement("b");
    name.textContent = told.name;
    line.inspector.append(name);
    for (const text of [told.time, told.why, told.launch && `launch: ${told.launch}`]) {
      if (!text) continue;
      const part = document.createElement("div");
      part.textContent = text;
      line.inspector.append(part);
    }
  }
  function tap(letter, x, y) {
    const line = lines.get(letter);
    const { left, right, top, bottom } = line.shown;
    let found;
    for (let i = 0; i < left.length; i++) if (left[i] <= x && x <= right[i] && top[i] <= y && y <= bottom[i]) found = i;
    pin(line, found);
  }

  function view(line, low, high) {
    const whole = line.strip.length_ns, span = Math.max(200, Math.min(high - low, 1.04 * whole));
    const start = Math.max(-0.02 * whole, Math.min(low, 1.02 * whole - span));
    line.plot.x_range.setv({ start, end: start + span });
  }
  const move = (line, by) => { const { start, end } = line.plot.x_range; view(line, start + by * (end - start), end + by * (end - start)); };
  function zoom(line, by) {
    const { start, end } = line.plot.x_range, middle = (start + end) / 2, half = ((end - start) / 2) * by;
    view(line, middle - half, middle + half);
  }
  const whole = (line) => view(line, -0.02 * line.strip.length_ns, 1.02 * line.strip.length_ns);
  function to_step(line, at) {
    const step = line.strip.steps[at];
    if (!step) return;
    const pad = 0.04 * (step.end - step.start);
    line.steps.value = String(at);
    view(line, step.start - pad, step.end + pad);
  }
  // A step gone to by a key, a button or the list is told as if it had been clicked; the step lane is the first.
  function go_to(line, at) {
    to_step(line, at);
    const step = line.strip.steps[at];
    if (!step) return;
    pin(line, undefined);
    write(line, describe(line, line.strip.columns.start.indexOf(step.start), 1, 0));
  }
  const next = (line, by) => go_to(line, Math.max(0, Math.min(line.strip.steps.length - 1, Number(line.steps.value) + by)));
  const ACTS = { in: (l) => zoom(l, 0.5), out: (l) => zoom(l, 2), left: (l) => move(l, -0.3), right: (l) => move(l, 0.3), whole,
    previous: (l) => next(l, -1), next: (l) => next(l, 1), release: (l) => pin(l, undefined) };
  const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "whole", "[": "previous", "]": "next", Escape: "release" };

  function choose_strip(line, number) {
    line.strip = unpacked(Object.assign(line.strips[number], { classes: line.classes }));
    const axis = line.plot.left[0];
    axis.ticker.setv({ ticks: line.strip.lanes.map((_, i) => i + 0.5) });
    axis.setv({ major_label_overrides: new Map(line.strip.lanes.map((name, i) => [i + 0.5, name])) });
    line.plot.y_range.setv({ start: line.strip.lanes.length, end: 0 });
    line.steps.replaceChildren(...line.strip.steps.map((step, i) => {
      const option = document.createElement("option");
      option.value = String(i);
      option.textContent = `step ${step.index}, ${duration(step.end - step.start)}${step.steady ? "" : ", left out"}`;
      return option;
    }));
    line.rule.textContent = `Steps ${line.strip.first} to ${line.strip.last}: ${line.strip.rule}.`;
    pin_nothing(line);
    to_step(line, Math.min(1, line.strip.steps.length - 1));
    redraw(line, true);
  }
  function pin_nothing(line) { line.shown = { left: [] }; pin(line, undefined); }

  function begin(letter, plot, element) {
    const given = K.read(`timeline-data-${letter}`);
    const find = (name) => plot.renderers.find((one) => one.tags.includes(name)).data_source;
    const box = document.getElementById(`timeline-${letter}`);
    const line = { ...given, dark: new Set(given.dark), plot, element, marks: find("marks"), labels: find("labels"), links: find("links"),
      hover: plot.toolbar.tools.find((tool) => tool.type === "HoverTool"), steps: box.querySelector("select.steps"), inspector: box.querySelector(".inspector"), range: box.querySelector(".range"),
      rule: box.querySelector(".rule") };
    lines.set(letter, line);
    const strips = box.querySelector("select.strips");
    strips?.addEventListener("change", () => choose_strip(line, Number(strips.value)));
    line.steps.addEventListener("change", () => go_to(line, Number(line.steps.value)));
    for (const button of K.all("button[data-act]", box)) button.addEventListener("click", () => ACTS[button.dataset.act](line));
    element.addEventListener("keydown", (event) => {
      const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
      if (!act) return;
      event.preventDefault();
      ACTS[act](line);
    });
    choose_strip(line, 0);
    plot.x_range.change.connect(() => later(line));
  }

  K.ready.push((id, plot) => { const letter = /^plot-timeline-(\w)$/.exec(id)?.[1]; if (letter) begin(letter, plot, document.getElementById(id)); });
  Object.assign(K, { hover, tell, tap, lines, ms: (ns, span) => (ns / 1e6).toFixed(span < 4e5 ? 4 : span < 4e6 ? 3 : span < 4e7 ? 2 : 1) });
})();
