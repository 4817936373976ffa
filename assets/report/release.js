"use strict";
// The page of a release: models by benchmarks as a heat map, and charts of a benchmark, its categories and its cost
const SVG_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a00", "#8b4fbf"];
const colour = (column) => SVG_COLOURS[column % SVG_COLOURS.length];
const hidden = new Set(), opened = new Set();
let byRow = null; // the row by which the columns are in order
const shares = (row) => row.cells.every((cell) => !cell || (cell.v >= 0 && cell.v <= 1));
const asText = (row, value) => !byId("c-unit").value && shares(row) ? `${(100 * value).toFixed(1)}` : number(value, row.scale);

// A name that may break after each underscore and before a bracket, and a name that ends in a chart's margin
const breaking = (name) => String(name).split(/(?<=[_/:])/).flatMap((part) => [make("wbr", {}), part]);
const shortened = (name, most) => name.length > most ? `${name.slice(0, most - 1)}…` : name;
const room = () => Math.max(280, Math.min(640, innerWidth - 56));

function head() {
  const top = byId("top");
  const measured = about.rows.filter((row) => row.task !== "Average").length;
  top.append(make("h1", {}, about.title));
  top.append(make("div", { class: "soft" }, `${about.columns.length} model${about.columns.length === 1 ? "" : "s"}, ${measured} benchmark${measured === 1 ? "" : "s"}`));
  if (about.sentence) top.append(make("p", { class: "sentence" }, about.sentence));
  if (about.going.length) top.append(make("h2", {}, "Going on"), make("ul", { id: "going" }, ...about.going.map((one) => make("li", {}, make("a", { href: one.link }, one.name), `: ${one.said}`))));
  if (about.sample.length) top.append(make("div", { class: "banner" }, `Sample data, not ${about.sample.join(", ")}: drawn for trying mm-eval out, and no result on a benchmark.`));
}

// Columns in their order: as given, or by the numbers of one row
function columns() {
  const order = about.columns.map((_, place) => place).filter((place) => !hidden.has(place));
  if (byRow === null) return order;
  const row = about.rows[byRow], value = (place) => row.cells[place] ? row.cells[place].v * (row.better === false ? -1 : 1) : -Infinity;
  return order.sort((a, b) => value(b) - value(a));
}
function rowsInOrder() {
  const words = byId("c-text").value.trim().toLowerCase();
  const rows = about.rows.map((row, place) => ({ row, place })).filter(({ row }) => !words || row.label.toLowerCase().includes(words) || row.task.toLowerCase().includes(words));
  const spread = ({ row }) => { const all = row.cells.filter((cell) => cell && !cell.apart).map((cell) => cell.v); return all.length ? (Math.max(...all) - Math.min(...all)) / (Math.max(...all.map(Math.abs)) || 1) : 0; };
  if (byId("c-order").value === "name") rows.sort((a, b) => a.row.label.localeCompare(b.row.label));
  if (byId("c-order").value === "spread") rows.sort((a, b) => spread(b) - spread(a));
  return rows;
}
// How dark a number is: its place between the lowest and the highest ranked number of its row; pale where all share the first rank
function shade(row, cells, cell) {
  if (row.better === null) return "";
  const ranked = cells.filter((one) => one && !one.apart).map((one) => one.v), low = Math.min(...ranked), high = Math.max(...ranked);
  if (cell.apart || ranked.length < 2 || high === low) return "";
  const share = (cell.v - low) / (high - low), darkest = cells.some((one) => one && one.rank) ? 40 : 12;
  return `background-color: color-mix(in srgb, var(--fill) ${Math.round(darkest * (row.better ? share : 1 - share))}%, transparent)`;
}
function whisker(cells, cell) {
  const ends = cells.filter(Boolean).flatMap((one) => [one.v, ...(one.at ? one.at : [])]), low = Math.min(...ends), high = Math.max(...ends), width = 88;
  const x = (value) => 4 + (width - 8) * (value - low) / (high - low || 1);
  const svg = draw("svg", { viewBox: `0 0 ${width} 10`, width, height: 10, "aria-hidden": "true" });
  if (cell.at) {
    svg.append(draw("line", { class: "whisker", x1: x(cell.at[0]), x2: x(cell.at[1]), y1: 5, y2: 5 }));
    for (const end of cell.at) svg.append(draw("line", { class: "whisker", x1: x(end), x2: x(end), y1: 2, y2: 8 }));
  }
  svg.append(draw("circle", { class: "dot", cx: x(cell.v), cy: 5, r: 3 }));
  return svg;
}
function cellOf(row, cells, place, of) {
  const cell = cells[place], model = about.columns[place];
  if (!cell) return make("td", { class: "none", title: model.hole || "not measured" }, "–");
  const kinds = [cell.best ? "best" : "", cell.apart ? "apart" : "", cell.ours ? "" : "reported"].filter(Boolean).join(" ");
  const said = [`${model.name}, ${of}: ${asText(row, cell.v)}`];
  if (cell.at) said.push(`95% interval ${asText(row, cell.at[0])} to ${asText(row, cell.at[1])}`);
  if (cell.rank) said.push(`rank ${cell.rank}`);
  said.push(cell.apart || "", cell.own || "", cell.flaw || "", cell.ours ? "" : "as reported, not measured by us", cell.protocol ? `under the protocol ${cell.protocol}` : "");
  const td = make("td", { class: kinds, style: shade(row, cells, cell) || null, title: said.filter(Boolean).join("\n") });
  const shown = make(cell.link ? "a" : "div", { href: cell.link });
  shown.append(cell.rank ? make("span", { class: "rank" }, `#${cell.rank}`) : "", make("span", { class: "value" }, asText(row, cell.v)));
  if (cell.flaw) shown.append(make("span", { class: "mark", "aria-label": cell.flaw }, " ⚠"));
  if (cell.own) shown.append(make("span", { class: "mark", "aria-label": cell.own }, " ¶"));
  if (!cell.ours) shown.append(make("span", { class: "mark" }, " *"));
  if (byId("c-intervals").checked) shown.append(make("br", {}), whisker(cells, cell));
  if (cell.verdict) shown.append(make("small", { class: "verdict" }, cell.verdict));
  if (cell.protocol) shown.append(make("small", { class: "verdict" }, `§ ${cell.protocol}`));
  if (cell.apart) shown.append(make("small", {}, "not ranked"));
  if (!cell.link && cell.where) shown.append(make("small", {}, cell.where));
  td.append(shown);
  return td;
}
function table() {
  const order = columns(), all = byId("c-parts").checked;
  const line = make("tr", {}, make("th", { scope: "col" }, "benchmark"));
  for (const place of order) {
    const column = about.columns[place], hide = make("button", { type: "button", "aria-label": `hide ${column.name}`, title: "hide" }, "✕");
    hide.addEventListener("click", () => { hidden.add(place); refresh(); });
    line.append(make("th", { scope: "col", class: "head" }, column.name, hide, ...column.facts.map((fact) => make("small", {}, fact))));
  }
  const body = make("tbody", {});
  for (const { row, place } of rowsInOrder()) {
    const name = make("th", { scope: "row" });
    if (row.parts.length) {
      const more = make("button", { type: "button", "aria-expanded": String(all || opened.has(place)), "aria-label": `categories of ${row.label}` }, all || opened.has(place) ? "▾" : "▸");
      more.addEventListener("click", () => { if (!opened.delete(place)) opened.add(place); refresh(); });
      name.append(more);
    }
    const sort = make("button", { type: "button", title: "order the columns by this row; once more: as given", "aria-pressed": String(byRow === place) }, byRow === place ? "⇤" : "⇄");
    sort.addEventListener("click", () => { byRow = byRow === place ? null : place; refresh(); });
    name.append(...breaking(row.label), row.better === false ? " ↓" : "", " ", sort);
    body.append(make("tr", { class: row.group ? "group" : "" }, name, ...order.map((column) => cellOf(row, row.cells, column, row.label))));
    if (all || opened.has(place)) for (const part of row.parts) {
      const row_of = part.unit === "points" ? { ...row, cells: part.cells, scale: 100 } : row;
      body.append(make("tr", { class: "part" }, make("th", { scope: "row" }, ...breaking(part.label)), ...order.map((column) => cellOf(row_of, part.cells, column, `${row.label}, ${part.label}`))));
    }
  }
  byId("table").replaceChildren(make("table", { class: "heat" }, make("thead", {}, line), body));
  const columnList = byId("c-columns");
  columnList.replaceChildren(make("option", { value: "" }, hidden.size ? `${hidden.size} hidden` : "all shown"), ...[...hidden].map((place) => make("option", { value: place }, `show ${about.columns[place].name}`)));
  columnList.disabled = !hidden.size;
}

// Charts
const picked = (id) => byId(id).value;
function bars(row) {
  const order = columns().filter((place) => row.cells[place]), width = room(), left = width < 480 ? 112 : 190, step = 26;
  const ends = order.flatMap((place) => [row.cells[place].v, ...(row.cells[place].at || [])]), low = Math.min(0, ...ends), high = shares(row) ? Math.max(1, ...ends) : Math.max(...ends);
  const x = (value) => left + (width - left - 70) * (value - low) / (high - low || 1);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${order.length * step + 10}`, width, role: "img", "aria-label": `${row.label} by model` });
  order.forEach((place, at) => {
    const cell = row.cells[place], y = at * step + 4;
    svg.append(draw("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, shortened(about.columns[place].name, left < 190 ? 16 : 28)));
    svg.append(draw("rect", { x: x(Math.min(0, cell.v)), y, width: Math.abs(x(cell.v) - x(0)), height: 18, fill: colour(place), opacity: cell.ours && !cell.apart ? .75 : .35 }));
    if (cell.at) svg.append(draw("line", { class: "whisker", x1: x(cell.at[0]), x2: x(cell.at[1]), y1: y + 9, y2: y + 9 }));
    svg.append(draw("text", { x: Math.max(x(cell.v), cell.at ? x(cell.at[1]) : 0) + 6, y: y + 14 }, asText(row, cell.v)));
  });
  return svg;
}
function radar(row, parts) {
  const size = 420, radius = 140, centre = [size / 2 + 40, size / 2], order = columns().filter((place) => parts.some((part) => part.cells[place]));
  const values = parts.flatMap((part) => part.cells.filter(Boolean).map((cell) => cell.v)), high = shares(row) ? 1 : Math.max(...values);
  const point = (at, value) => { const angle = 2 * Math.PI * at / parts.length - Math.PI / 2; return [centre[0] + radius * value / high * Math.cos(angle), centre[1] + radius * value / high * Math.sin(angle)]; };
  const svg = draw("svg", { viewBox: `0 0 ${size + 80} ${size}`, width: size + 80, class: "radar", role: "img", "aria-label": `${row.label} by category and model` });
  for (const ring of [.25, .5, .75, 1]) svg.append(draw("circle", { class: "ring", cx: centre[0], cy: centre[1], r: radius * ring }));
  parts.forEach((part, at) => {
    const [x, y] = point(at, high), [tx, ty] = point(at, high * 1.12);
    svg.append(draw("line", { class: "axis", x1: centre[0], y1: centre[1], x2: x, y2: y }));
    svg.append(draw("text", { x: tx, y: ty + 4, "text-anchor": Math.abs(tx - centre[0]) < 12 ? "middle" : tx > centre[0] ? "start" : "end" }, part.name.length > 18 ? `${part.name.slice(0, 17)}…` : part.name));
  });
  for (const place of order) {
    const corners = parts.map((part, at) => point(at, Math.max(0, part.cells[place]?.v ?? 0)).map((value) => value.toFixed(1)).join(","));
    svg.append(draw("polygon", { class: "trace", points: corners.join(" "), stroke: colour(place) }));
  }
  return svg;
}
function scatter(row, axis) {
  const order = columns().filter((place) => row.cells[place] && typeof row.cells[place][axis] === "number" && row.cells[place][axis] > 0);
  if (!order.length) return make("p", { class: "hint" }, "No run recorded this.");
  const width = room(), height = 300, box = { left: 60, right: width < 480 ? 100 : 150, top: 14, bottom: 40 };
  const xs = order.map((place) => Math.log10(row.cells[place][axis])), ys = order.flatMap((place) => [row.cells[place].v, ...(row.cells[place].at || [])]);
  const scale = (low, high, from, to) => (value) => from + (to - from) * (value - low) / (high - low || 1);
  const pad = (low, high, share) => [low - share * (high - low || 1), high + share * (high - low || 1)];
  const [x0, x1] = pad(Math.min(...xs), Math.max(...xs), .1), [y0, y1] = pad(Math.min(...ys), Math.max(...ys), .08);
  const x = scale(x0, x1, box.left, width - box.right), y = scale(y0, y1, height - box.bottom, box.top);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `${row.label} against ${axis}` });
  svg.append(draw("line", { class: "axis", x1: box.left, x2: width - box.right, y1: height - box.bottom, y2: height - box.bottom }), draw("line", { class: "axis", x1: box.left, x2: box.left, y1: box.top, y2: height - box.bottom }));
  for (const value of [Math.min(...ys), Math.max(...ys)]) svg.append(draw("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, asText(row, value)));
  for (const value of new Set([Math.min(...xs), Math.max(...xs)])) svg.append(draw("text", { x: x(value), y: height - box.bottom + 16, "text-anchor": "middle" }, Number((10 ** value).toPrecision(3)).toLocaleString("en")));
  svg.append(draw("text", { class: "soft", x: width / 2, y: height - 6, "text-anchor": "middle" }, `${AXES[axis]} (logarithmic)`));
  const named = []; // a name moves down until it stands on no other one
  order.forEach((place, at) => {
    const cell = row.cells[place], left = x(xs[at]) + 9;
    let base = y(cell.v) + 4;
    while (named.some(([beside, over]) => Math.abs(beside - left) < 130 && Math.abs(over - base) < 13)) base += 13;
    named.push([left, base]);
    if (cell.at) svg.append(draw("line", { class: "whisker", x1: x(xs[at]), x2: x(xs[at]), y1: y(cell.at[0]), y2: y(cell.at[1]) }));
    svg.append(draw("circle", { cx: x(xs[at]), cy: y(cell.v), r: 5, fill: colour(place) }), draw("text", { x: left, y: base }, shortened(about.columns[place].name, width < 480 ? 14 : 22)));
  });
  return svg;
}
const AXES = { parameters: "parameters", tokens: "tokens a document", seconds: "seconds of requests a document", dollars: "dollars of the whole run" };
function charts() {
  const box = byId("chart");
  const options = about.rows.map((row, place) => make("option", { value: place }, row.label));
  box.append(make("h2", {}, "Charts"), make("div", { class: "pick" }, make("label", {}, "Benchmark ", make("select", { id: "h-row" }, ...options)), make("label", {}, "Categories ", make("select", { id: "h-level" })), make("label", {}, "Against ", make("select", { id: "h-axis" }, ...Object.entries(AXES).map(([value, text]) => make("option", { value }, text))))));
  box.append(make("div", { class: "charts", id: "drawings" }), make("p", { class: "hint", id: "series" }));
  const recorded = (axis) => about.rows.some((row) => row.cells.some((cell) => cell?.[axis] > 0));
  byId("h-axis").value = ["parameters", "tokens", "seconds", "dollars"].find(recorded) || "tokens";
  byId("h-row").addEventListener("change", () => { levels(); drawCharts(); });
  for (const id of ["h-level", "h-axis"]) byId(id).addEventListener("change", drawCharts);
  levels();
}
function levels() {
  const row = about.rows[picked("h-row")], found = [...new Set(row.parts.map((part) => part.level))];
  byId("h-level").replaceChildren(...found.map((level) => make("option", { value: level }, level)));
  byId("h-level").parentElement.hidden = !found.length;
}
function drawCharts() {
  const row = about.rows[picked("h-row")];
  if (!row) return;
  const parts = row.parts.filter((part) => part.level === picked("h-level"));
  const card = (title, ...inside) => make("div", { class: "card" }, make("h3", {}, title), ...inside);
  const drawings = [card(row.label, bars(row))];
  if (parts.length >= 3 && parts.length <= 40) drawings.push(card(`${row.label} by ${picked("h-level")}`, radar(row, parts)));
  drawings.push(card(`${row.label} against ${AXES[picked("h-axis")]}`, scatter(row, picked("h-axis"))));
  byId("drawings").replaceChildren(...drawings);
  byId("series").replaceChildren("Models:", ...columns().flatMap((place) => [make("span", { class: "series", style: `background:${colour(place)}` }), about.columns[place].name]));
}
function keepState() {
  const state = new URLSearchParams();
  for (const id of ["c-text", "c-order", "c-unit"]) if (picked(id)) state.set(id.slice(2), picked(id));
  if (byId("c-parts").checked) state.set("parts", "1");
  if (!byId("c-intervals").checked) state.set("intervals", "0");
  if (byRow !== null) state.set("by", byRow);
  if (hidden.size) state.set("hidden", [...hidden].join("."));
  history.replaceState(null, "", [...state].length ? `#?${state}` : location.pathname + location.search);
}
function fromAddress() {
  const state = new URLSearchParams(location.hash.replace(/^#\??/, ""));
  for (const id of ["c-text", "c-order", "c-unit"]) byId(id).value = state.get(id.slice(2)) || "";
  byId("c-parts").checked = state.get("parts") === "1";
  byId("c-intervals").checked = state.get("intervals") !== "0";
  byRow = about.rows[state.get("by")] && state.get("by") !== null ? Number(state.get("by")) : null;
  hidden.clear();
  for (const place of (state.get("hidden") || "").split(".")) if (place !== "" && about.columns[place]) hidden.add(Number(place));
}
function refresh() { table(); drawCharts(); keepState(); }
head();
charts();
fromAddress();
for (const id of ["c-order", "c-unit", "c-intervals", "c-parts"]) byId(id).addEventListener("change", refresh);
byId("c-text").addEventListener("input", refresh);
byId("c-columns").addEventListener("change", () => { if (picked("c-columns") !== "") { hidden.delete(Number(picked("c-columns"))); refresh(); } });
byId("controls").addEventListener("submit", (event) => event.preventDefault());
addEventListener("resize", drawCharts);
addEventListener("hashchange", () => { fromAddress(); table(); drawCharts(); });
byId("legend").append("Colour: from the worst ", make("span", { class: "key", style: "background:linear-gradient(to right, transparent, color-mix(in srgb, var(--fill) 40%, transparent))" }), " to the best ranked number of a row; pale where no two models of the row can be told apart. #1= means that several models share the first rank: they can't be told apart at 5% after Holm's correction over all pairs of this table. Hatched: not ranked. ⚠ a remark, * as reported. A number opens the samples behind it.");
if (about.apart.length) byId("notes").append(make("p", { class: "hint", id: "apart" }, `This page holds all its numbers and charts. Samples and pictures are on the pages of the runs, to which its numbers link: ${about.apart.map((folder) => `${folder}/report.html`).join(", ")}. mm-eval report RUNS --bundle DIR writes a folder that can be copied as a whole.`));
if (about.notes.length) byId("notes").append(make("h2", {}, "Notes"), make("ul", {}, ...about.notes.map((note) => make("li", {}, note))));
table();
drawCharts();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
