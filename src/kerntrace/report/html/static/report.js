// The page's own script: theme, tabs, sortable and filterable tables, and the figures, which Bokeh draws one after another.
"use strict";
window.kerntrace = (() => {
  const root = document.documentElement;
  root.dataset.script = "yes";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const drawn = new Map();   // figure's element id -> its Bokeh model
  const ready = [];          // called with (id, model) when a figure has been drawn

  // Theme: the reader's choice, else the system's; paper is always light.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = { theme: null };
  const theme = () => chosen.theme ?? (system.matches ? "dark" : "light");
  function paint(name, now = false) {   // now: before this call returns, for a printer does not wait
    root.dataset.theme = name;
    const style = getComputedStyle(root);
    const of = (variable) => style.getPropertyValue(variable).trim();
    for (const model of drawn.values()) {
      colour(model, of("--paper"), of("--ink"), of("--quiet"), of("--line"));
      if (now) Bokeh.index.get(model)?.paint();
    }
  }
  function colour(model, paper, ink, quiet, line) {
    model.outline_line_color = line;
    for (const axis of [...model.below, ...model.left].filter((one) => one.type.endsWith("Axis")))
      axis.setv({ axis_label_text_color: quiet, major_label_text_color: ink, axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null });
    for (const grid of model.center.filter((one) => one.type === "Grid")) grid.grid_line_color = line;
    for (const legend of [...model.center, ...model.right, ...model.above, ...model.below].filter((one) => one.type === "Legend"))
      legend.setv({ label_text_color: ink, background_fill_color: paper, border_line_color: line });
    for (const one of model.renderers.filter((r) => r.name === "ink")) {
      if (one.glyph.text_color) one.glyph.text_color = { value: ink };
      else one.glyph.line_color = { value: quiet };
    }
  }
  system.addEventListener("change", () => paint(theme()));
  addEventListener("beforeprint", () => paint("light", true));
  addEventListener("afterprint", () => paint(theme()));
  root.dataset.theme = theme();

  function toggles() {
    const button = document.getElementById("theme");
    const told = () => { button.textContent = theme() === "dark" ? "Light" : "Dark"; };
    button.addEventListener("click", () => { chosen.theme = theme() === "dark" ? "light" : "dark"; paint(chosen.theme); told(); });
    document.getElementById("print").addEventListener("click", () => print());
    told();
  }

  // Tabs: buttons that show one of several blocks; without this script, and on paper, all are there.
  function tabs() {
    for (const list of all("[role=tablist]")) {
      const buttons = all("[role=tab]", list);
      const show = (one) => {
        for (const button of buttons) {
          const mine = button === one;
          button.setAttribute("aria-selected", mine);
          button.tabIndex = mine ? 0 : -1;
          document.getElementById(button.getAttribute("aria-controls")).hidden = !mine;
        }
      };
      buttons.forEach((button, at) => {
        button.addEventListener("click", () => show(button));
        button.addEventListener("keydown", (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!step) return;
          const next = buttons[(at + step + buttons.length) % buttons.length];
          show(next);
          next.focus();
        });
      });
      if (buttons.length) show(buttons[0]);
    }
  }

  // Tables: a heading's button sorts by the cells' values; filters hide rows. Paper shows all rows.
  function tables() {
    for (const table of all("table[data-sortable]")) {
      const body = table.tBodies[0];
      all("th button.sort", table).forEach((button) => button.addEventListener("click", () => {
        const head = button.closest("th");
        const at = head.cellIndex;
        const up = head.getAttribute("aria-sort") === "descending";
        all("th", table.tHead).forEach((th) => th.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => {
          const cell = row.cells[at];
          const number = cell.dataset.sort ?? cell.querySelector("data")?.value;
          return number === undefined ? cell.textContent.trim() : number === "" ? -Infinity : Number(number);
        };
        const rows = [...body.rows].map((row) => [value(row), row]);
        rows.sort(([a], [b]) => (up ? 1 : -1) * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
        body.append(...rows.map(([, row]) => row));
      }));
      const controls = document.querySelector(`[data-filters="${table.id}"]`);
      if (controls) filters(table, body, controls);
    }
  }
  function filters(table, body, controls) {
    const text = controls.querySelector("input[type=search]");
    const selects = all("select", controls);
    const count = controls.querySelector("output");
    const apply = () => {
      const words = (text?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const there = row.textContent.toLowerCase();
        const keep = words.every((word) => there.includes(word)) && selects.every((s) => !s.value || row.dataset[s.dataset.column] === s.value);
        row.hidden = !keep;
        shown += keep;
      }
      count.textContent = `${shown} of ${body.rows.length} rows`;
    };
    text?.addEventListener("input", apply);
    selects.forEach((select) => select.addEventListener("change", apply));
    apply();
  }

  // Figures: one at a time, so that reading and scrolling are never held up by all of them.
  async function figures() {
    const waiting = all(".plot[data-figure]");
    for (const element of waiting) {
      await new Promise((go) => setTimeout(go, 0));
      const view = await Bokeh.embed.embed_item(read(element.dataset.figure), element.id);
      const model = [...view.roots][0]?.model ?? view.roots[0].model;
      element.classList.remove("waiting");
      drawn.set(element.id, model);
      for (const call of ready) call(element.id, model);
      paint(root.dataset.theme);
    }
    root.dataset.drawn = "yes";
  }

  // Blocks wider than the page: their scrolling is given to the keyboard.
  function scrolled() {
    for (const block of all(".scroll")) {
      if (block.scrollWidth <= block.clientWidth) { block.removeAttribute("tabindex"); block.removeAttribute("role"); continue; }
      block.tabIndex = 0;
      block.setAttribute("role", "region");
      block.setAttribute("aria-label", block.querySelector("caption")?.textContent.trim().slice(0, 120) || "table");
    }
  }

  function begin() {
    toggles();
    tabs();
    tables();
    const watch = new ResizeObserver(scrolled);   // also when a tab or a closed block is opened
    for (const block of all(".scroll")) watch.observe(block);
    requestAnimationFrame(() => setTimeout(figures, 0));
  }
  return { read, all, ready, drawn, begin, theme };
})();
