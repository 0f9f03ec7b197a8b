// Charts of the numbers in a table, drawn with uPlot. The table stays on the page, below its chart: for readers of screens, and for copying. Without
// this script there is only the table.
//
// A place for a chart has `data-chart` with its kind, `stacked` or `lines`, and `data-of` with the ID of the table. The first column has times
// (`<time datetime>`), each other column is a curve. Numbers are in `data-number`, where a cell without it has no number.
"use strict";
(() => {
  const HEIGHT = 240;
  const drawn = new Map();

  // A color of the style sheet as a canvas understands it, in the light or dark scheme of now.
  const ink = (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  const color = (index) => ink(`--curve-${(index % 8) + 1}`);
  // A measure has the same color in every chart. Releases have those by their order. Equal curves hide each other: each is drawn over those
  // before it with longer gaps.
  const COLORS = { Active: "--curve-1", Downloaded: "--curve-2", Downloads: "--curve-2", Installed: "--curve-4", Installs: "--curve-4", Failed: "--curve-5", Failures: "--curve-5" };
  const DASHES = { Downloaded: [14, 10], Installed: [8, 6], Installs: [8, 6], Failed: [2, 4], Failures: [2, 4] };
  const inkOf = (name, index) => (Object.hasOwn(COLORS, name) ? ink(COLORS[name]) : color(index));

  const read = (table) => {
    const names = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent.trim());
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells]);
    const times = rows.map((cells) => Date.parse(cells[0].querySelector("time").dateTime) / 1000);
    const curves = names.map((_, index) => rows.map((cells) => (cells[index + 1].dataset.number === undefined ? null : Number(cells[index + 1].dataset.number))));
    return { names, times, curves };
  };

  // The marks of an axis from 0 up: at most five, the last one at or above the highest number.
  const marks = (high) => {
    const unit = 10 ** Math.floor(Math.log10(Math.max(high, 1) / 4));
    const step = Math.max(1, [1, 2, 5, 10].find((count) => count * unit * 4 >= high) * unit);
    return Array.from({ length: Math.max(1, Math.ceil(high / step)) + 1 }, (_, index) => index * step);
  };

  // Each curve on top of those before it. A day without numbers is a gap.
  const stack = (curves) => {
    const sums = curves[0].map(() => 0);
    return curves.map((curve) => curve.map((number, place) => (number === null ? null : (sums[place] += number))));
  };

  const draw = (place) => {
    drawn.get(place)?.destroy();
    place.replaceChildren();
    const table = document.getElementById(place.dataset.of);
    const { names, times, curves } = read(table);
    if (times.length === 0) {
      return;
    }
    const isStacked = place.dataset.chart === "stacked";
    const shown = isStacked ? stack(curves) : curves;
    const number = new Intl.NumberFormat("en-US");
    const series = names.map((name, index) => ({
      label: name,
      stroke: inkOf(name, index),
      fill: isStacked ? color(index) : undefined,
      dash: isStacked ? undefined : DASHES[name],
      width: isStacked ? 1 : 2,
      // A single day or minute has no line: a bar, or a large dot.
      paths: isStacked && times.length === 1 ? uPlot.paths.bars({ size: [0.6, 100] }) : undefined,
      points: { show: !isStacked && times.length === 1, size: 10, fill: inkOf(name, index) },
      // Where nobody points at the chart, its legend shows the end.
      value: (_, __, ___, at) => {
        const value = curves[index][at ?? times.length - 1];
        return value === null || value === undefined ? "–" : number.format(value);
      },
    }));
    // The highest first, so that those below are drawn over it.
    const order = isStacked ? names.map((_, index) => names.length - 1 - index) : names.map((_, index) => index);
    // One point gets room on both sides: half a day, or half a minute.
    const [first, last] = [times[0], times[times.length - 1]];
    const isByDay = table.tBodies[0].querySelector("time").dateTime.length === 10;
    const room = first === last ? (isByDay ? 43_200 : 30) : 0;
    const time = new Intl.DateTimeFormat("en-US", isByDay ? { month: "short", day: "numeric", timeZone: "UTC" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" });
    const axis = { stroke: ink("--muted"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line"), width: 1 } };
    const options = {
      width: place.clientWidth,
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      scales: { x: { range: () => [first - room, last + room] }, y: { range: (_, low, high) => [Math.min(low ?? 0, 0), marks(high ?? 0).at(-1)] } },
      axes: [{ ...axis, incrs: isByDay ? [1, 2, 7, 14, 30, 60, 90].map((days) => days * 86_400) : [60, 300, 600, 900, 3_600, 10_800, 21_600, 43_200], values: (_, all) => all.map((seconds) => time.format(seconds * 1000)) }, { ...axis, size: 64, splits: (_, __, ___, high) => marks(high), values: (_, values) => values.map((value) => (Number.isInteger(value) ? number.format(value) : "")) }],
      series: [{ label: isByDay ? "Day" : "Time", value: (_, seconds) => time.format((seconds ?? last) * 1000) }, ...order.map((index) => series[index])],
      cursor: { drag: { x: false, y: false } },
    };
    drawn.set(place, new uPlot(options, [times, ...order.map((index) => shown[index])], place));
  };

  const drawAll = () => document.querySelectorAll("[data-chart]").forEach(draw);

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const plot = drawn.get(target);
      if (plot && plot.width !== target.clientWidth) {
        plot.setSize({ width: target.clientWidth, height: HEIGHT });
      }
    }
  });

  const begin = () => {
    for (const [place, plot] of drawn) {
      if (!place.isConnected) {
        plot.destroy();
        resized.unobserve(place);
        drawn.delete(place);
      }
    }
    drawAll();
    document.querySelectorAll("[data-chart]").forEach((place) => resized.observe(place));
  };

  // The part that is updated without loading the page. It waits while someone reads its table by keyboard, and after "Pause".
  let isPaused = false;
  let open = [];
  document.addEventListener("htmx:before:request", (event) => {
    const live = document.getElementById("live");
    if (isPaused || live?.contains(document.activeElement)) {
      event.preventDefault();
    }
  });
  document.addEventListener("htmx:before:swap", () => {
    open = [...document.querySelectorAll("#live details[open]")].map((details) => details.id);
  });
  document.addEventListener("htmx:after:swap", () => {
    open.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    begin();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-pauses]");
    if (button) {
      isPaused = !isPaused;
      button.textContent = isPaused ? "Resume live view" : "Pause live view";
    }
  });

  document.addEventListener("DOMContentLoaded", begin);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
})();
