"use strict";
// The page of a release: models by benchmarks as a heat map, and charts of a benchmark, its categories and its cost
const colour = (column) => COLOURS[column % COLOURS.length];
const hidden = new Set(), opened = new Set();
let byRow = null; // the row by which the columns are in order
const shares = (row) => row.share;
const hasNumber = (cell) => Boolean(cell) && !cell.lacking;
const asText = (row, value) => !byId("c-unit").value && shares(row) ? `${(100 * value).toFixed(1)}` : number(value, row.scale);

// A name that ends in a chart's margin
const shortened = (name, most) => name.length > most ? `${name.slice(0, most - 1)}…` : name;
const room = () => Math.max(280, Math.min(640, innerWidth - 56));
const AVERAGE = "Average";
// ?embed: the table alone, for the frame of another page
const embedded = new URLSearchParams(location.search).has("embed");

// A page of one model leads to another's through this one (#?to=NAME&at=#mme/7), which says so where that has none
function leadOn() {
  const asked = new URLSearchParams(location.hash.replace(/^#\??/, "")), name = asked.get("to");
  if (name === null) return;
  const model = about.columns.find((column) => column.name === name);
  if (model?.page) return location.replace(`${model.page}${asked.get("at") ?? ""}`);
  byId("top").append(make("p", { class: "banner", id: "no-page" }, `There is no page with the samples of ${name}${model?.hole ? `: ${model.hole}` : ""}.`));
}

function head() {
  const top = byId("top"), measured = about.benchmarks;
  document.body.classList.toggle("embed", embedded);
  top.append(make("h1", {}, about.title));
  const models = `${about.columns.length} model${about.columns.length === 1 ? "" : "s"}`, benchmarks = `${measured} benchmark${measured === 1 ? "" : "s"}`;
  top.append(make("div", { class: "soft" }, [about.date, models, benchmarks].filter(Boolean).join(" · ")));
  for (const said of about.gains) top.append(make("p", { class: "summary sentence" }, said));
  if (about.sentence) top.append(make("p", { class: "summary sentence" }, about.sentence));
  if (about.going.length) top.append(make("h2", {}, "Going on"), make("ul", { id: "going" }, ...about.going.map((one) => make("li", {}, make("a", { href: one.link }, one.name), `: ${one.said}`))));
  if (about.sample.length) top.append(sampleBanner(about.sample));
}

// Sizes of models, of which those that there are can be chosen
const SIZES = { small: ["up to 4 billion", 0, 4e9], middle: ["4 to 20 billion", 4e9, 20e9], large: ["over 20 billion", 20e9, Infinity], unknown: ["unknown"] };
const sizeOf = (column) => column.parameters ? Object.keys(SIZES).find((name) => column.parameters > SIZES[name][1] && column.parameters <= SIZES[name][2]) : "unknown";
// Columns in their order: as given, by name, average rank or size, or by the numbers of one row
function columns() {
  const size = byId("c-size").value, by = byId("c-models").value, order = about.columns.map((_, place) => place).filter((place) => !hidden.has(place) && (!size || sizeOf(about.columns[place]) === size));
  const keys = { rank: (place) => about.ranks?.[place] ?? Infinity, size: (place) => about.columns[place].parameters ?? Infinity };
  if (by === "name") order.sort((a, b) => about.columns[a].name.localeCompare(about.columns[b].name));
  if (keys[by]) order.sort((a, b) => keys[by](a) === keys[by](b) ? a - b : keys[by](a) - keys[by](b));
  if (byRow === null) return order;
  const row = about.rows[byRow], value = (place) => hasNumber(row.cells[place]) ? row.cells[place].v * (row.better === false ? -1 : 1) : -Infinity;
  return order.sort((a, b) => value(b) - value(a));
}
function rowsInOrder() {
  const words = byId("c-text").value.trim().toLowerCase();
  const rows = about.rows.map((row, place) => ({ row, place })).filter(({ row }) => !words || row.label.toLowerCase().includes(words) || row.task.toLowerCase().includes(words));
  const spread = ({ row }) => { const all = row.cells.filter((cell) => hasNumber(cell) && !cell.apart).map((cell) => cell.v); return all.length ? (Math.max(...all) - Math.min(...all)) / (Math.max(...all.map(Math.abs)) || 1) : 0; };
  if (byId("c-order").value === "name") rows.sort((a, b) => a.row.label.localeCompare(b.row.label));
  if (byId("c-order").value === "spread") rows.sort((a, b) => spread(b) - spread(a));
  return rows;
}
// How dark a number is: by its rank, where one was earned. Numbers of one rank look alike: a colour says no more than the tests do
function shade(cells, cell) {
  const places = cells.map((one) => one?.rank ? parseInt(one.rank, 10) : 0), last = Math.max(...places), rank = cell.rank ? parseInt(cell.rank, 10) : last;
  if (last < 2 || rank === last || (rank === 1 && !cell.best)) return null;
  return `background-color: color-mix(in srgb, var(--fill) ${Math.round(38 * (last - rank) / (last - 1))}%, transparent)`;
}
// The interval below a number, and as a thin line on the scale that all shares have in common
function interval(row, cell) {
  const line = make("span", { class: "interval" }, make("small", {}, cell.at.map((end) => asText(row, end)).join(" – ")));
  if (row.ends) line.append(track({ value: cell.v, interval: cell.at }, ...row.ends));
  return line;
}
// What a cell shows, as a link to the samples behind it where there is a page
const linked = (cell, ...inside) => make(cell.link ? "a" : "div", cell.link ? { href: cell.link, target: embedded ? "_blank" : null, rel: embedded ? "noopener" : null } : {}, ...inside);
function cellOf(row, cells, place, of) {
  const cell = cells[place], model = about.columns[place];
  if (!cell) return make("td", { class: "none", title: model.hole || "not measured" }, "–");
  if (cell.lacking) return make("td", { class: "none lacking", title: `${model.name}, ${of}: ${cell.lacking}, ${cell.part} documents answered` }, linked(cell, cell.lacking, make("span", { class: "mark" }, " ⚠"), make("small", {}, cell.part)));
  const kinds = [cell.best ? "best" : "", cell.apart ? "apart" : "", cell.ours ? "" : "reported"].filter(Boolean).join(" ");
  const said = [`${model.name}, ${of}: ${asText(row, cell.v)}`];
  if (cell.at) said.push(`95% interval ${asText(row, cell.at[0])} to ${asText(row, cell.at[1])}`);
  if (cell.rank) said.push(`rank ${cell.rank}`);
  said.push(cell.apart || "", cell.own || "", cell.flaw || "", cell.ours ? "" : "as reported, not measured by us", cell.protocol ? `under the protocol ${cell.protocol}` : "");
  const td = make("td", { class: kinds, style: shade(cells, cell), title: said.filter(Boolean).join("\n") });
  const shown = linked(cell);
  shown.append(cell.rank ? make("span", { class: "rank" }, `#${cell.rank}`) : "", make("span", { class: "value" }, asText(row, cell.v)));
  if (cell.flaw) shown.append(make("span", { class: "mark", "aria-label": cell.flaw }, " ⚠"));
  if (cell.own) shown.append(make("span", { class: "mark", "aria-label": cell.own }, " ¶"));
  if (!cell.ours) shown.append(make("span", { class: "mark" }, " *"));
  if (cell.at && byId("c-intervals").checked) shown.append(interval(row, cell));
  if (cell.part) shown.append(make("small", { class: "part" }, `${cell.part} documents`));
  if (cell.gain) shown.append(make("small", { class: "verdict" }, cell.gain));
  if (cell.verdict) shown.append(make("small", { class: "verdict" }, cell.verdict));
  if (cell.protocol) shown.append(make("small", { class: "verdict" }, `§ ${cell.protocol}`));
  if (cell.apart) shown.append(make("small", {}, "not ranked"));
  if (!cell.link && cell.where) shown.append(make("small", {}, cell.where));
  td.append(shown);
  return td;
}
// The difference of two models: its interval and its p-values; a number leads to the page that compares them
function differenceOf(row) {
  const found = row.difference, signed = (value) => `${value > 0 ? "+" : ""}${asText(row, value)}`;
  if (!found) return make("td", { class: "none" }, "–");
  const shown = make(about.pair.link && row.task !== AVERAGE ? "a" : "div", about.pair.link && row.task !== AVERAGE ? { href: `${about.pair.link}#?${new URLSearchParams({ task: row.task })}` } : {});
  shown.append(make("span", { class: "value" }, `${signed(found.v)}${found.told ? " *" : ""}`));
  if (found.at && byId("c-intervals").checked) shown.append(make("small", {}, found.at.map(signed).join(" to ")));
  if (found.p) shown.append(make("small", {}, found.p));
  return make("td", { class: found.told ? "difference best" : "difference" }, shown);
}
function table() {
  const order = columns(), all = byId("c-parts").checked;
  const line = make("tr", {}, make("th", { scope: "col" }, "benchmark"));
  for (const place of order) {
    const column = about.columns[place], hide = make("button", { type: "button", "aria-label": `hide ${column.name}`, title: "hide" }, "✕");
    hide.addEventListener("click", () => { hidden.add(place); refresh(); });
    line.append(make("th", { scope: "col", class: "head" }, ...breaking(column.name), hide, column.parameters ? make("small", {}, `${inWords(column.parameters)} parameters`) : null, ...column.facts.map((fact) => make("small", {}, fact))));
  }
  if (about.pair && order.length > 1) line.append(make("th", { scope: "col", class: "head difference", title: about.pair.said }, "difference", make("small", {}, about.pair.name), about.pair.link ? make("small", {}, make("a", { href: about.pair.link }, "by document")) : null));
  const body = make("tbody", {});
  for (const { row, place } of rowsInOrder()) {
    const name = make("th", { scope: "row" });
    if (row.parts.length) {
      const more = make("button", { type: "button", "aria-expanded": String(all || opened.has(place)), "aria-label": `categories of ${row.label}` }, all || opened.has(place) ? "▾" : "▸");
      more.addEventListener("click", () => { if (!opened.delete(place)) opened.add(place); refresh(); });
      name.append(more);
    }
    const sort = make("button", { type: "button", title: "sort the columns by this row; click again for the given order", "aria-pressed": String(byRow === place) }, byRow === place ? "⇤" : "⇄");
    sort.addEventListener("click", () => { orderBy(byRow === place ? "" : `row:${place}`); refresh(); });
    name.append(...breaking(row.label), row.better === false ? " ↓" : "", " ", sort);
    body.append(make("tr", { class: row.task === AVERAGE ? "average" : row.group ? "group" : "" }, name, ...order.map((column) => cellOf(row, row.cells, column, row.label)), about.pair && order.length > 1 ? differenceOf(row) : null));
    if (all || opened.has(place)) for (const part of row.parts) {
      const row_of = { ...row, cells: part.cells, share: part.share, scale: part.share ? 1 : part.scale, ends: part.ends };
      body.append(make("tr", { class: "part" }, make("th", { scope: "row" }, ...breaking(part.label)), ...order.map((column) => cellOf(row_of, part.cells, column, `${row.label}, ${part.label}`))));
    }
  }
  if (about.ranks && !picked("c-text")) body.append(make("tr", { class: "ranks" }, make("th", { scope: "row" }, "Average rank"), ...order.map((place) => make("td", { class: about.ranks[place] === null ? "none" : "" }, about.ranks[place] === null ? "–" : about.ranks[place].toFixed(2))), about.pair && order.length > 1 ? make("td", {}) : null));
  const heat = make("table", { class: "heat" }, make("thead", {}, line), body);
  byId("table").replaceChildren(heat);
  const columnList = byId("c-columns");
  columnList.replaceChildren(make("option", { value: "" }, hidden.size ? `${hidden.size} hidden` : "all shown"), ...[...hidden].map((place) => make("option", { value: place }, `show ${about.columns[place].name}`)));
  columnList.disabled = !hidden.size;
}

// Charts
const picked = (id) => byId(id).value;
// A line for each model: its number in one benchmark
function bars(row) {
  const order = columns().filter((place) => hasNumber(row.cells[place])), ends = order.flatMap((place) => [row.cells[place].v, ...(row.cells[place].at || [])]);
  const [low, high] = row.ends || [Math.min(0, ...order.map((place) => row.cells[place].v)), Math.max(...ends)], box = make("div", { class: "bars", role: "group", "aria-label": `${row.label} by model` });
  for (const place of order) {
    const cell = row.cells[place], line = track({ value: cell.v, interval: cell.at }, low, high, { bar: true, colour: colour(place) });
    if (!cell.ours || cell.apart) line.classList.add("pale");
    thinMarks(line, row.cells, row.chance, low, high);
    box.append(make("span", { title: about.columns[place].name }, about.columns[place].name), line, make("b", {}, asText(row, cell.v)), make("small", { class: "soft" }, cell.ours ? cell.apart ? "not ranked" : "" : "reported"));
  }
  return box;
}
// Several numbers of all models: a line for each number, on it a dot for each model, with 95% intervals
function dots(lines, row) {
  const order = columns(), ends = lines.flatMap((line) => order.flatMap((place) => hasNumber(line.cells[place]) ? [line.cells[place].v, ...(line.cells[place].at || [])] : []));
  const share = lines.every((line) => line.share), step = share ? .1 : 10 ** Math.floor(Math.log10(Math.max(...ends.map(Math.abs), 1)));
  const low = share ? Math.min(0, Math.floor(Math.min(...ends) / step + 1e-9) * step) : Math.floor(Math.min(...ends) / step + 1e-9) * step;
  const high = Math.max(share ? 1 : low + step, Math.ceil(Math.max(...ends) / step - 1e-9) * step);
  const box = make("div", { class: "dots", role: "group", "aria-label": "numbers of all models with 95% intervals" });
  for (const line of lines) {
    const lanes = make("span", { class: "lanes" });
    for (const place of order) if (hasNumber(line.cells[place])) {
      const cell = line.cells[place], lane = track({ value: cell.v, interval: cell.at }, low, high, { colour: colour(place) });
      lane.title = visible(`${about.columns[place].name}: ${shownAs(cell.v, share)}${cell.at ? ` (${cell.at.map((end) => shownAs(end, share)).join(" to ")})` : ""}`);
      if (!cell.ours || cell.apart) lane.classList.add("pale");
      thinMarks(lane, line.cells, line.chance, low, high);
      lanes.append(lane);
    }
    box.append(make("span", { title: line.label, class: line.task === AVERAGE ? "average" : "" }, line.label), lanes);
  }
  box.append(make("span"), axisOf(low, high, share));
  return box;
}
// A bar with its interval for each model in each ability: the mean of the benchmarks that have its tag
function abilities() {
  const order = columns(), box = make("div", { class: "dots abilities", role: "group", "aria-label": "abilities of all models with 95% intervals" });
  for (const one of about.abilities) {
    const lanes = make("span", { class: "lanes" });
    for (const place of order) if (one.cells[place]) {
      const cell = one.cells[place], lane = track({ value: cell.v, interval: cell.at }, 0, 1, { bar: true, colour: colour(place) });
      lane.title = visible(`${about.columns[place].name}: ${inPercent(cell.v)}${cell.at ? ` (${cell.at.map(inPercent).join(" to ")})` : ""}`);
      lanes.append(lane);
    }
    box.append(make("span", { title: one.of }, one.label, make("small", { class: "soft" }, one.of)), lanes);
  }
  box.append(make("span"), axisOf(0, 1, true));
  return box;
}
// Thin marks on a track: what chance gives, and what others reported
function thinMarks(line, cells, chance, low, high) {
  const put = (kind, value, said) => { if (value < low || value > high) return; const mark = make("i", { class: kind, title: said }); mark.style.left = `${(100 * (value - low) / (high - low || 1)).toFixed(2)}%`; line.append(mark); };
  if (typeof chance === "number") put("chance", chance, "chance");
  cells.forEach((cell, place) => { if (hasNumber(cell) && !cell.ours) put("published", cell.v, `${about.columns[place].name}, as reported`); });
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
  for (const value of ticks(y0, y1)) svg.append(draw("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, shares(row) ? asText(row, value).replace(/\.0+$/, "") : number(value, row.scale).replace(/\.0+$/, "")));
  const along = logTicks(x0, x1), every = Math.ceil(along.length * 46 / (width - box.left - box.right));
  along.filter((_, at) => at % every === 0).forEach((value) => svg.append(draw("text", { x: x(value), y: height - box.bottom + 16, "text-anchor": "middle" }, Number((10 ** value).toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }))));
  svg.append(draw("text", { class: "soft", x: width / 2, y: height - 6, "text-anchor": "middle" }, `${AXES[axis]} (logarithmic)`));
  const named = []; // a name moves up or down until it stands on no other one; without room for it, the dot says it when pointed at
  order.forEach((place, at) => {
    const cell = row.cells[place], name = shortened(about.columns[place].name, width < 480 ? 14 : 22), wide = 7 * name.length;
    const before = x(xs[at]) + 9 + wide > width, left = before ? x(xs[at]) - 9 - wide : x(xs[at]) + 9;
    const free = (base) => base > box.top && base < height - box.bottom - 2 && !named.some(([from, to, over]) => from < left + wide && left < to && Math.abs(over - base) < 13);
    const base = [0, 13, -13, 26, -26, 39, -39, 52, -52].map((off) => y(cell.v) + 4 + off).find(free);
    const dot = draw("circle", { cx: x(xs[at]), cy: y(cell.v), r: 5, fill: colour(place) });
    dot.append(draw("title", {}, visible(`${about.columns[place].name}: ${asText(row, cell.v)}`)));
    if (base !== undefined) named.push([left, left + wide, base]);
    if (cell.at) svg.append(draw("line", { class: "whisker", x1: x(xs[at]), x2: x(xs[at]), y1: y(cell.at[0]), y2: y(cell.at[1]) }));
    svg.append(dot);
    if (base !== undefined) svg.append(draw("text", { x: before ? left + wide : left, y: base, "text-anchor": before ? "end" : "start" }, name));
  });
  return svg;
}
const AXES = { parameters: "parameters", tokens: "tokens per document", seconds: "seconds of requests per document", dollars: "dollars of the whole run" };
// What a benchmark's numbers can be drawn against: three models at least, not all alike
const drawable = (row, axis) => { const found = row.cells.map((cell) => cell?.[axis]).filter((value) => value > 0); return found.length > 2 && new Set(found).size > 1; };
const card = (title, ...inside) => make("div", { class: "card" }, make("h3", {}, title), ...inside);
function charts() {
  const box = byId("chart"), options = about.rows.map((row, place) => make("option", { value: place }, row.label));
  const axes = Object.entries(AXES).filter(([axis]) => about.rows.some((row) => drawable(row, axis)));
  if (!about.rows.length || embedded) return;
  box.append(make("h2", {}, "Charts"), make("p", { class: "hint", id: "series" }), make("div", { id: "every" }), make("div", { class: "pick" }, make("label", {}, "Benchmark ", make("select", { id: "h-row" }, ...options)), make("label", {}, "Categories ", make("select", { id: "h-level" })), make("label", {}, "Against ", make("select", { id: "h-axis" }, ...axes.map(([value, text]) => make("option", { value }, text))))));
  box.append(make("div", { class: "charts", id: "drawings" }));
  byId("h-axis").parentElement.hidden = !axes.length;
  byId("h-row").addEventListener("change", () => { levels(); drawCharts(); });
  for (const id of ["h-level", "h-axis"]) byId(id).addEventListener("change", drawCharts);
  levels();
}
function levels() {
  const row = about.rows[picked("h-row")], found = [...new Set(row.parts.map((part) => part.level).filter(Boolean))];
  byId("h-level").replaceChildren(...found.map((level) => make("option", { value: level }, level)));
  byId("h-level").parentElement.hidden = !found.length;
}
// First all benchmarks of which the numbers are shares, where there are two; then the chosen one
function drawCharts() {
  if (!byId("drawings")) return;
  const row = about.rows[picked("h-row")], every = about.rows.filter((one) => shares(one) && one.better !== null), axis = picked("h-axis");
  const left = about.rows.filter((one) => !every.includes(one)).map((one) => one.label);
  byId("every").replaceChildren(...(every.length > 1 ? [card("All benchmarks", dots(every), make("p", { class: "hint" }, `Percent, with 95% intervals.${every.some((one) => typeof one.chance === "number") ? " Dashed marks: chance." : ""}${every.some((one) => one.cells.some((cell) => hasNumber(cell) && !cell.ours)) ? " Thin marks: as reported." : ""}${left.length ? ` In points, and not drawn here: ${left.join(", ")}.` : ""}`))] : []));
  if (about.abilities.length) byId("every").append(card("By ability", abilities(), make("p", { class: "hint" }, "The mean of the benchmarks with each tag that all models have, with 95% intervals. A benchmark may have several tags.")));
  const parts = row.parts.filter((part) => part.level && part.level === picked("h-level")), drawings = [card(row.label, bars(row))];
  if (parts.length > 1) drawings.push(card(`${row.label} by ${picked("h-level")}`, dots(parts)));
  if (axis && drawable(row, axis)) drawings.push(card(`${row.label} against ${AXES[axis]}`, scatter(row, axis)));
  byId("drawings").replaceChildren(...drawings);
  byId("series").replaceChildren(...columns().filter((place) => about.rows.some((one) => hasNumber(one.cells[place]))).flatMap((place) => [make("span", { class: "series", style: `background:${colour(place)}` }), about.columns[place].name]));
}
// The order of the models: of its list, or by a row
function orderBy(value) {
  byId("c-models").value = value;
  byRow = value.startsWith("row:") ? Number(value.slice(4)) : null;
}
function offerOrders() {
  const models = [["", "as given"], ["name", "name"], ...(about.ranks ? [["rank", "average rank"]] : []), ...(about.columns.some((one) => one.parameters) ? [["size", "size"]] : [])];
  const rows = about.rows.map((row, place) => [`row:${place}`, row.label]);
  byId("c-models").replaceChildren(...[...models, ...rows].map(([value, text]) => make("option", { value }, text)));
  const sizes = Object.keys(SIZES).filter((name) => about.columns.some((one) => sizeOf(one) === name));
  byId("c-size").replaceChildren(make("option", { value: "" }, "all"), ...sizes.map((value) => make("option", { value }, SIZES[value][0])));
  byId("c-size").parentElement.hidden = sizes.length < 2;
}
function keepState(click) {
  const state = new URLSearchParams();
  for (const id of ["c-text", "c-order", "c-unit"]) if (picked(id)) state.set(id.slice(2), picked(id));
  if (byId("c-parts").checked) state.set("parts", "1");
  if (!byId("c-intervals").checked) state.set("intervals", "0");
  if (picked("c-models")) state.set("by", picked("c-models").replace("row:", ""));
  if (picked("c-size")) state.set("size", picked("c-size"));
  if (hidden.size) state.set("hidden", [...hidden].join("."));
  history[click ? "pushState" : "replaceState"](null, "", [...state].length ? `#?${state}` : location.pathname + location.search);
}
function fromAddress() {
  const state = new URLSearchParams(location.hash.replace(/^#\??/, ""));
  for (const id of ["c-text", "c-order", "c-unit"]) byId(id).value = state.get(id.slice(2)) || "";
  byId("c-parts").checked = state.get("parts") === "1";
  byId("c-intervals").checked = state.get("intervals") !== "0";
  const by = state.get("by") || "";
  orderBy(/^\d+$/.test(by) ? `row:${by}` : by);
  byId("c-size").value = state.get("size") || "";
  for (const id of ["c-models", "c-size"]) if (byId(id).selectedIndex < 0) { byId(id).value = ""; byRow = null; }
  hidden.clear();
  for (const place of (state.get("hidden") || "").split(".")) if (place !== "" && about.columns[place]) hidden.add(Number(place));
}
// Each click has an address of its own, so that the browser's Back undoes it; letters of a search have one together
function refresh(event) { table(); drawCharts(); keepState(event?.type !== "input"); }
head();
leadOn();
byId("options").open = innerWidth > 760 && !embedded;
charts();
offerOrders();
fromAddress();
byId("c-models").addEventListener("change", () => { orderBy(picked("c-models")); refresh(); });
for (const id of ["c-order", "c-size", "c-unit", "c-intervals", "c-parts"]) byId(id).addEventListener("change", refresh);
byId("c-text").addEventListener("input", refresh);
byId("c-columns").addEventListener("change", () => { if (picked("c-columns") !== "") { hidden.delete(Number(picked("c-columns"))); refresh(); } });
byId("controls").addEventListener("submit", (event) => event.preventDefault());
addEventListener("resize", drawCharts);
addEventListener("hashchange", () => { fromAddress(); table(); drawCharts(); });
// What the marks mean, of those that the table has
function legend() {
  const cells = about.rows.flatMap((row) => [row.cells, ...row.parts.map((part) => part.cells)]).flat().filter(Boolean), has = (name) => cells.some((cell) => cell[name]);
  const ranks = cells.some((cell) => cell.rank), said = [];
  if (ranks) said.push("Blue: the rank in a row, the first darkest. A row without colour shows no significant difference (5%, Holm-corrected over all pairs).");
  if (cells.some((cell) => cell.rank?.endsWith("="))) said.push("\"#1=\": several models share the rank.");
  if (has("at")) said.push("Grey: 95% intervals, on one scale from 0 to 100 for all percentages.");
  if (has("apart")) said.push("Hatched: measured differently from the rest of its row, not ranked.");
  if (has("flaw") || has("lacking")) said.push("⚠ documents failed, are missing or were cut: the notes say how many.");
  if (has("own")) said.push("¶ a prompt, chat template or system message that differs from most of its row.");
  if (has("protocol")) said.push("§ under a named protocol.");
  if (cells.some((cell) => hasNumber(cell) && !cell.ours)) said.push("* as reported, not measured by us.");
  if (about.pair) said.push(about.pair.said);
  if (has("link")) said.push("A number opens the samples behind it.");
  byId("legend").append(said.join(" "));
}
legend();
if (about.apart.length) byId("notes").append(make("p", { class: "hint", id: "apart" }, `This page holds all its numbers and charts. Samples and pictures are on the pages of the runs, to which its numbers link: ${about.apart.map((folder) => `${folder}/report.html`).join(", ")}. mm-eval report RUNS --site DIR writes a folder that can be copied as a whole.`));
// Further tables: what the release can tell
for (const part of about.parts) {
  const element = make("table", { class: "numbers" }), kind = (place) => part.table.head[place][1];
  element.append(make("thead", {}, make("tr", {}, ...part.table.head.map(([name], place) => make("th", { class: kind(place) }, name)))));
  element.append(make("tbody", {}, ...part.table.rows.map((row) => make("tr", {}, ...row.cells.map((cell, place) => make("td", { class: kind(place) }, cell))))));
  byId("parts").append(make("h2", {}, part.title), make("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": part.title }, element), ...part.said.map((said) => make("p", { class: "hint" }, ...inCode(said))));
}
if (about.notes.length) byId("notes").append(make("h2", {}, "Notes"), make("ul", {}, ...about.notes.map((note) => make("li", {}, ...inCode(note)))));
table();
drawCharts();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
