// Marks of the timelines: their columns, which of them are drawn at a zoom, and what each is in words.
"use strict";
(() => {
  const K = window.kerntrace;
  const TYPES = { u1: Uint8Array, i2: Int16Array, i4: Int32Array, f8: Float64Array };
  const GAPS = new Set(["host_wait", "launch_call", "launch_latency", "device_gap", "profiler", "unattributed"]);
  const KERNELS = new Set(["matrix product", "attention", "other kernel"]);
  const FINEST = 2;          // marks narrower than this many pixels are drawn together
  const MARGIN = 0.6;        // of the view's width, drawn on either side of it so that panning needs no new marks
  const LABELS = 240;

  function duration(ns) {
    const size = Math.abs(ns);
    if (size >= 1e9) return `${(ns / 1e9).toFixed(3)} s`;
    if (size >= 1e6) return `${(ns / 1e6).toFixed(3)} ms`;
    if (size >= 1e3) return `${(ns / 1e3).toFixed(1)} us`;
    return `${ns} ns`;
  }
  const exact = (ns) => (Math.abs(ns) >= 1e3 ? `${duration(ns)} (${ns.toLocaleString("en")} ns)` : `${ns} ns`);

  function column({ type, data }) {
    const raw = atob(data);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new TYPES[type](bytes.buffer);
  }

  function unpacked(strip) {
    if (strip.columns) return strip;
    strip.columns = Object.fromEntries(Object.entries(strip.marks).map(([name, packed]) => [name, column(packed)]));
    const { lane, id, start, length } = strip.columns;
    strip.lanes_at = [];     // where each lane's marks begin, and the longest of them
    strip.longest = [];
    strip.of_id = new Map();
    strip.first_of = new Map();
    for (let i = 0; i < (lane?.length ?? 0); i++) {
      if (strip.lanes_at[lane[i]] === undefined) { strip.lanes_at[lane[i]] = i; strip.longest[lane[i]] = 0; }
      strip.longest[lane[i]] = Math.max(strip.longest[lane[i]], length[i]);
      if (id[i] >= 0) strip.of_id.set(id[i], i);
    }
    strip.lanes_at.push(lane?.length ?? 0);
    for (let i = 0; i < (lane?.length ?? 0); i++) {   // the earliest operation of each launch
      const by = strip.columns.by[i];
      if (by < 0 || !is_operation(strip, i)) continue;
      const before = strip.first_of.get(by);
      if (before === undefined || start[i] < start[before]) strip.first_of.set(by, i);
    }
    delete strip.marks;
    return strip;
  }
  const class_of = (line, i) => line.classes[line.strip.columns.kind[i]];
  function is_operation(strip, i) {
    const kind = strip.classes[strip.columns.kind[i]];
    return KERNELS.has(kind) || kind === "copy or memset";
  }

  // Marks of the view and its margins: each by itself where it is wide enough, else together with its neighbours, at a height
  // that says how much of the stretch they cover.
  function marks_of(line, low, high, width) {
    const { lane, start, length, kind } = line.strip.columns;
    const finest = (FINEST * (high - low)) / width;
    const from = low - MARGIN * (high - low);
    const to = high + MARGIN * (high - low);
    const out = { left: [], right: [], top: [], bottom: [], color: [], id: [], count: [], covered: [] };
    const put = (left, right, at, height, colour, id, count, covered) => {
      const middle = at + 0.5;
      out.left.push(left); out.right.push(right);
      out.top.push(middle - 0.42 * height); out.bottom.push(middle + 0.42 * height);
      out.color.push(colour); out.id.push(id); out.count.push(count); out.covered.push(covered);
    };
    for (let at = 0; at + 1 < line.strip.lanes_at.length; at++) {
      const stop = line.strip.lanes_at[at + 1];
      let i = lower_bound(start, line.strip.lanes_at[at], stop, from - line.strip.longest[at]);
      while (i < stop && start[i] < to) {
        if (start[i] + length[i] < from) { i++; continue; }
        if (length[i] >= finest) {
          put(start[i], start[i] + length[i], at, 1, line.colours[kind[i]], i, 1, length[i]);
          i++;
          continue;
        }
        const first = i, begin = start[i];
        const shares = new Map();
        let covered = 0, end = begin;
        while (i < stop && start[i] < begin + finest && length[i] < finest) {
          covered += length[i];
          end = Math.max(end, start[i] + length[i]);
          shares.set(kind[i], (shares.get(kind[i]) ?? 0) + length[i] + 1);
          i++;
        }
        const most = [...shares].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
        const right = Math.max(end, begin + finest / FINEST);
        const height = i - first === 1 ? 1 : Math.max(0.25, Math.min(1, covered / Math.max(finest, end - begin)));
        put(begin, right, at, height, line.colours[most], first, i - first, covered);
      }
    }
    return { data: out, from, to };
  }
  function lower_bound(values, low, high, wanted) {
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < wanted) low = middle + 1; else high = middle;
    }
    return low;
  }

  function labels_of(line, data, low, high, width) {
    const out = { x: [], y: [], text: [], color: [] };
    const per_pixel = (high - low) / width;
    for (let i = 0; i < data.id.length && out.x.length < LABELS; i++) {
      if (data.count[i] !== 1) continue;
      const left = Math.max(data.left[i], low), right = Math.min(data.right[i], high);
      const room = Math.floor((right - left) / per_pixel / 6.4) - 1;
      const kind = class_of(line, data.id[i]);
      if (room < 3) continue;
      const text = GAPS.has(kind) ? line.titles[kind] ?? kind : line.strip.strings[line.strip.columns.name[data.id[i]]];
      out.x.push(left + 3 * per_pixel);
      out.y.push((data.top[i] + data.bottom[i]) / 2);
      out.text.push(text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text);
      out.color.push(line.dark.has(kind) ? "#ffffff" : "#10161d");
    }
    return out;
  }

  // What a mark is, in words: name, time, launch, cause.
  function describe(line, i, count, covered) {
    const { columns, strings } = line.strip;
    const kind = class_of(line, i), ns = columns.length[i], by = columns.by[i], more = columns.more[i];
    if (count > 1) return { name: `${count} marks, ${duration(covered)} in all`, time: "zoom in to tell them apart", launch: "", why: "" };
    const name = strings[columns.name[i]];
    const call = by >= 0 ? line.strip.of_id.get(by) : undefined;
    const told = { name, time: `${exact(ns)} at ${duration(columns.start[i])}`, launch: "", why: "" };
    if (GAPS.has(kind)) {
      told.name = line.titles[kind];
      told.why = `${duration(ns)} of an idle gap of ${duration(more)}: ${line.meanings[kind]}`;
    } else if (kind === "step") told.why = more < 0 ? "steady: headline figures are taken over it" : `left out of headline figures: ${strings[more]}`;
    else if (kind === "replay") told.why = `one launch, ${more} nodes`;
    else if (kind === "copy or memset" && more >= 0) told.why = `${more.toLocaleString("en")} bytes`;
    else if (KERNELS.has(kind)) told.why = more > 0 ? "kernel of a graph replay" : "kernel launched on its own";
    else if (columns.id[i] >= 0) told.why = more > 0 ? `launched ${more} operation${more > 1 ? "s" : ""}` : kind;
    if (call !== undefined) {
      const delay = columns.start[i] - columns.start[call];
      const ended = GAPS.has(kind) ? "ended by work of " : "";
      const apart = GAPS.has(kind) ? "" : `, ${duration(delay)} before it started`;
      told.launch = `${ended}${strings[columns.name[call]]} (${duration(columns.length[call])})${apart}`;
    } else if (by >= 0) told.launch = "launch call outside the steps shown";
    else if (is_operation(line.strip, i) || kind === "replay") told.launch = "not on record";
    return told;
  }

  K.marks = { GAPS, duration, unpacked, class_of, marks_of, labels_of, describe };
})();
