"use strict";
// Draws the page from the JSON in it. Texts become text nodes only: nothing that a model said is ever read as HTML.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const about = read("data"), rows = read("rows");
let pictures = null;
const picture = (digest) => (pictures ||= read("media"))[digest];
const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
const number = (value, scale) => typeof value !== "number" ? "–" : Math.abs(scale ?? value) >= 2 ? value.toFixed(2) : value.toFixed(4);
const percent = (share) => `${(100 * share).toFixed(1)}%`;

// What was measured
function header() {
  const top = byId("top");
  top.append(make("h1", {}, about.model));
  top.append(make("div", { class: "soft" }, about.table.map((row) => row.alias).join(", ")));
  if (about.sample) top.append(make("div", { class: "banner" }, `Sample data, not ${about.datasets.join(", ")}: drawn for trying mm-eval out, and no result on a benchmark.`));
  const facts = make("dl", { class: "facts" });
  const fact = (name, value) => { if (value !== null && value !== "" && value !== undefined) facts.append(make("dt", {}, name), make("dd", {}, String(value))); };
  if (about.adapter !== about.model) fact("adapter", about.adapter);
  for (const [task, prompt] of Object.entries(about.prompts)) {
    const said = Object.entries(prompt.kwargs).filter(([, value]) => value !== "").map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", ");
    if (said || prompt.key !== "default") fact(`prompt of ${task}`, said ? `${prompt.key}: ${said}` : prompt.key);
  }
  fact("chat template", about.chat ? "applied" : "not applied");
  fact("system", about.system);
  fact("limit", about.limit);
  fact("seed", about.seed);
  fact("versions", [`mm-eval ${about.version}`, ...Object.entries(about.libraries).map((pair) => pair.join(" "))].join(", "));
  top.append(make("details", { open: "" }, make("summary", { class: "soft" }, "What was asked, and how"), facts));
}

// The table, each number with its interval drawn
function intervalDrawing(row, one, low, high) {
  const width = 180, at = (value) => (width - 8) * (value - low) / (high - low || 1) + 4;
  const svg = draw("svg", { viewBox: `0 0 ${width} 18`, width, height: 18, role: "img" });
  svg.append(draw("title", {}, one.interval ? `95% interval ${number(one.interval[0], one.value)} to ${number(one.interval[1], one.value)}` : "no interval"));
  svg.append(draw("line", { class: "axis", x1: 4, x2: width - 4, y1: 9, y2: 9 }));
  if (one.interval) {
    const [from, to] = one.interval.map((value) => at(Math.min(high, Math.max(low, value))));
    svg.append(draw("line", { class: "whisker", x1: from, x2: to, y1: 9, y2: 9 }));
    for (const x of [from, to]) svg.append(draw("line", { class: "whisker", x1: x, x2: x, y1: 5, y2: 13 }));
  }
  svg.append(draw("circle", { class: "dot", cx: at(one.value), cy: 9, r: 4.5 }));
  return svg;
}
function overview() {
  const table = make("table", { class: "numbers" }), head = make("tr", {});
  for (const [text, kind] of [["task"], ["metric"], ["value", "n"], ["95% interval"], [""], ["docs", "n"], ["failed", "n"], ["unparsed", "n"], ["truncated", "n"]]) head.append(make("th", { class: kind }, text));
  table.append(make("thead", {}, head));
  const body = make("tbody", {});
  let hidden = 0;
  for (const row of about.table) {
    const values = row.numbers.flatMap((one) => [one.value, ...(one.interval || [])]).filter((value) => typeof value === "number");
    const low = Math.min(0, ...values), high = Math.max(1, ...values);
    row.numbers.forEach((one, index) => {
      const headline = !row.headlines.length || row.headlines.includes(`${one.metric},${one.filter}`);
      const line = make("tr", { class: headline ? "" : "part" });
      if (!headline) { line.hidden = true; hidden += 1; }
      const filter = one.filter === "none" ? "" : ` (${one.filter})`;
      const arrow = row.better[one.metric] === false ? " ↓" : "";
      line.append(make("td", { class: "name" }, index ? "" : row.alias), make("td", { class: "metric" }, one.metric + filter + arrow));
      line.append(make("td", { class: "n" }, number(one.value)));
      line.append(make("td", {}, one.interval ? `${number(one.interval[0], one.value)} to ${number(one.interval[1], one.value)}${one.few ? " (few docs)" : ""}` : "none"));
      line.append(make("td", {}, typeof one.value === "number" ? intervalDrawing(row, one, low, high) : ""));
      for (const name of ["n", "failed", "unparsed", "truncated"]) {
        const share = name !== "n" && row[name] ? ` (${percent(row[name] / row.n)})` : "";
        line.append(make("td", { class: name !== "n" && row[name] && !index ? "n bad" : "n" }, index ? "" : row[name] + share));
      }
      body.append(line);
    });
  }
  table.append(body);
  const section = byId("overview");
  section.append(make("h2", {}, "Results"), make("div", { class: "card scroll" }, table));
  if (hidden) {
    const button = make("button", { type: "button" }, `Show ${hidden} more numbers`);
    button.addEventListener("click", () => { for (const line of body.querySelectorAll("tr.part")) line.hidden = false; button.remove(); });
    section.append(make("p", {}, button));
  }
  for (const row of about.table) for (const note of row.notes) section.append(make("p", { class: "hint" }, `${row.alias}: ${note}`));
  section.append(make("p", { class: "hint" }, "Intervals are 95%, docs on one picture drawn together. Failed docs are in no number; unparsed answers score 0."));
}

// Charts of a task
function bars(parts) {
  const top = Math.max(...parts.map((part) => Math.max(part.value, part.interval ? part.interval[1] : 0)), 0.0001);
  const low = Math.min(0, ...parts.map((part) => Math.min(part.value, part.interval ? part.interval[0] : 0)));
  const line = 24, left = 152, width = 140, at = (value) => left + width * (value - low) / (top - low);
  const svg = draw("svg", { viewBox: `0 0 ${left + width + 58} ${parts.length * line + 6}`, role: "img", "aria-label": "score of each category" });
  parts.forEach((part, index) => {
    const y = index * line + 4;
    const name = part.name.length > 22 ? `${part.name.slice(0, 21)}…` : part.name;
    svg.append(draw("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, name));
    const bar = draw("rect", { class: "bar", x: at(Math.min(0, part.value)), y, width: Math.max(1, Math.abs(at(part.value) - at(0))), height: line - 8, opacity: 0.55 });
    bar.append(draw("title", {}, `${part.name}: ${number(part.value)} of ${part.n} docs`));
    svg.append(bar);
    if (part.interval) {
      const [from, to] = part.interval.map(at), middle = y + line / 2 - 4;
      svg.append(draw("line", { class: "whisker", x1: from, x2: to, y1: middle, y2: middle }));
      for (const x of [from, to]) svg.append(draw("line", { class: "whisker", x1: x, x2: x, y1: middle - 4, y2: middle + 4 }));
    }
    svg.append(draw("text", { x: left + width + 8, y: y + 13 }, number(part.value)));
  });
  return svg;
}
const logLikelihood = (value) => value === "-inf" ? -Infinity : Number(value);
const clean = (value) => String(value).trim().toLowerCase();
function said(row, labels) {
  // The label that a row's answer came to: extracted text where that is a label, the other of two where it is wrong.
  if (row.u || row.s === "failed") return null;
  const gold = clean(row.g), extracted = clean(Object.values(row.x)[0]?.[0] ?? "");
  if (row.ok === true) return gold;
  if (labels.includes(extracted)) return extracted;
  if (row.ok === false && labels.length === 2) return labels.find((label) => label !== gold);
  return null;
}
function confusion(of) {
  const choice = of.length && of[0].o ? of[0].o.length : 0;
  let labels = [...new Set(of.map((row) => clean(row.g)))].sort();
  const answer = (row) => {
    if (!choice) return said(row, labels);
    if (row.s === "failed") return null;
    const lls = row.a.slice(0, choice).map((pair) => logLikelihood(pair[0]));
    return String(lls.indexOf(Math.max(...lls)));
  };
  if (labels.length < 2 || labels.length > 8 || labels.some((label) => label.length > 12)) return null;
  if (labels.join() === "no,yes") labels = ["yes", "no"];
  const counts = {}, columns = [...labels, "none"];
  for (const row of of) if (row.s !== "failed") { const key = `${clean(row.g)}|${answer(row) ?? "none"}`; counts[key] = (counts[key] || 0) + 1; }
  const most = Math.max(1, ...Object.values(counts)), show = (label) => choice ? String.fromCharCode(65 + Number(label)) : label.length === 1 ? label.toUpperCase() : label;
  const table = make("table", { class: "confusion" }), head = make("tr", {}, make("th", {}, "gold ↓ answer →"));
  for (const label of columns) head.append(make("th", {}, label === "none" ? "unparsed" : show(label)));
  table.append(head);
  for (const gold of labels) {
    const line = make("tr", {}, make("th", {}, show(gold)));
    for (const label of columns) {
      const count = counts[`${gold}|${label}`] || 0, cell = make("td", { class: gold === label ? "same" : "" }, String(count));
      cell.style.background = `color-mix(in srgb, var(--fill) ${Math.round(55 * count / most)}%, transparent)`;
      line.append(cell);
    }
    table.append(line);
  }
  const box = make("div", { class: "card" }, make("h3", {}, "Answers against gold"), make("div", { class: "scroll" }, table));
  const parsed = of.filter((row) => row.s !== "failed" && answer(row) !== null);
  if (labels[0] === "yes" && parsed.length) {
    const yes = parsed.filter((row) => answer(row) === "yes").length / parsed.length, gold = of.filter((row) => clean(row.g) === "yes").length / of.length;
    box.append(make("p", { class: "hint" }, `Says yes to ${percent(yes)} of the questions that it answered; yes is right for ${percent(gold)}.`));
  }
  box.append(make("p", { class: "hint" }, "Framed cells are right answers."));
  return box;
}
function lengths(of) {
  const texts = of.flatMap((row) => row.a).filter((answer) => typeof answer === "string");
  if (!texts.length) return null;
  const bins = [];
  for (const text of texts) { const bin = text.length ? Math.floor(Math.log2(text.length)) + 1 : 0; bins[bin] = (bins[bin] || 0) + 1; }
  const first = bins.findIndex((count) => count), shown = Array.from({ length: bins.length - first }, (_, index) => [first + index, bins[first + index] || 0]);
  const most = Math.max(...shown.map(([, count]) => count)), step = Math.min(60, 300 / shown.length), height = 110;
  const svg = draw("svg", { viewBox: `0 0 ${Math.max(200, step * shown.length + 10)} ${height + 44}`, width: Math.max(200, step * shown.length + 10), role: "img", "aria-label": "lengths of the answers" });
  shown.forEach(([bin, count], index) => {
    const tall = height * count / most, x = 5 + index * step;
    svg.append(draw("rect", { class: "bar", x, y: 16 + height - tall, width: step - 4, height: tall, opacity: 0.55 }));
    svg.append(draw("text", { x: x + step / 2 - 2, y: 12 + height - tall, "text-anchor": "middle" }, count || ""));
    const from = bin ? 2 ** (bin - 1) : 0, to = bin ? 2 ** bin - 1 : 0;
    svg.append(draw("text", { class: "soft", x: x + step / 2 - 2, y: height + 32, "text-anchor": "middle" }, from === to ? from : step < 45 ? from : `${from}–${to}`));
  });
  return make("div", { class: "card" }, make("h3", {}, "Characters an answer"), svg);
}
function charts() {
  const section = byId("charts");
  for (const task of about.tasks) {
    const of = rows.filter((row) => row.t === task.name), boxes = [];
    if (task.parts.length > 1) boxes.push(make("div", { class: "card" }, make("h3", {}, task.by), bars(task.parts)));
    boxes.push(confusion(of), lengths(of));
    const there = boxes.filter(Boolean);
    if (there.length) section.append(make("h2", {}, task.name), make("div", { class: "charts" }, ...there));
  }
}

// The samples: a list that draws only what is in view, so that 20,000 are as quick as 20
const HEIGHT = 64;
let shown = rows, chosen = -1;
const list = byId("list"), spacer = byId("spacer"), detail = byId("detail");
const state = (row) => row.s === "failed" ? ["failed", "other", "⚠"] : row.u ? ["unparsed", "other", "?"] : row.ok === true ? ["right", "right", "✓"] : row.ok === false ? ["wrong", "wrong", "✗"] : ["scored", "other", "•"];
// Runs beside a sample: of `held` (all, or the chosen one) the first in which a right answer became a wrong one, or the reverse
const held = (row) => (row.w || []).filter((one, place) => one && (!byId("f-beside").value || place === Number(byId("f-beside").value)));
const flip = (row) => {
  const one = held(row).find((other) => other.ok !== undefined && row.ok !== undefined && other.ok !== row.ok);
  return !one ? "" : one.ok === (about.kind === "run") ? "lost" : "gained";
};
const answerText = (row) => row.a.map((answer) => typeof answer === "string" ? answer : JSON.stringify(answer)).join(" | ");
const address = (row) => `#${encodeURIComponent(row.t).replace(/%3A/g, ":").replace(/%40/g, "@")}/${row.d}`;

function label(row) {
  const [name, kind, sign] = state(row), changed = flip(row);
  return make("span", { class: `state ${kind}` }, `${sign} ${name}${changed ? `, ${changed}` : ""}`);
}
function rowElement(index) {
  const row = shown[index], element = make("div", { class: index === chosen ? "row chosen" : "row", role: "option", "data-index": index, "aria-selected": String(index === chosen) });
  element.style.top = `${index * HEIGHT}px`;
  const source = row.images && picture(row.images[0]);
  element.append(source ? make("img", { src: source, alt: "", loading: "lazy" }) : make("div", { class: "blank" }));
  element.append(make("div", {}, make("div", { class: "one" }, label(row), make("span", { class: "soft" }, `${row.t} ${row.d}${row.c ? ` · ${row.c}` : ""}`)), make("div", { class: "two" }, answerText(row) || "(empty)")));
  return element;
}
function paint() {
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4), last = Math.min(shown.length, first + Math.ceil(list.clientHeight / HEIGHT) + 9);
  spacer.style.height = `${shown.length * HEIGHT}px`;
  const elements = [spacer];
  for (let index = first; index < last; index += 1) elements.push(rowElement(index));
  list.replaceChildren(...elements);
}
function block(title, text) { return [make("h4", {}, title), make("pre", {}, text === "" ? "(empty)" : text)]; }
function marked(title, text) {
  const words = byId("f-text").value.trim(), [head, pre] = block(title, text);
  const at = words ? text.toLowerCase().indexOf(words.toLowerCase()) : -1;
  if (at >= 0) pre.replaceChildren(text.slice(0, at), make("mark", {}, text.slice(at, at + words.length)), text.slice(at + words.length));
  return [head, pre];
}
function show(index, keepAddress) {
  if (index < 0 || index >= shown.length) return;
  chosen = index;
  const row = shown[index];
  if (!keepAddress) history.replaceState(null, "", address(row));
  const top = index * HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
  paint();
  const copy = make("button", { type: "button", id: "copy" }, "Copy link");
  copy.addEventListener("click", () => navigator.clipboard?.writeText(location.href).then(() => { copy.textContent = "Copied"; }, () => {}));
  const parts = [make("div", { class: "head" }, make("h3", {}, `${row.t}, doc ${row.d}${row.c ? ` (${row.c})` : ""}`), make("span", {}, label(row), " ", copy))];
  if (row.images) {
    const box = make("div", { class: "pictures" });
    row.images.forEach((digest, place) => { const source = picture(digest); box.append(source ? make("img", { src: source, alt: `picture ${place + 1}`, loading: "lazy" }) : make("span", { class: "soft" }, `picture ${digest.slice(0, 12)} is not beside this file`)); });
    parts.push(box);
  }
  parts.push(...marked("Prompt, as asked", row.p));
  if (row.e) parts.push(...block("Failed", row.e));
  if (row.o) parts.push(...block("Choices, with log-likelihood in nats", row.o.map((text, place) => `${place === row.g || (Array.isArray(row.g) && row.g.includes(place)) ? "→" : " "} ${logLikelihood(row.a[place]?.[0]).toFixed(3)}  ${text}`).join("\n")));
  else row.a.forEach((answer, place) => parts.push(...marked(row.a.length > 1 ? `Answer ${place + 1}` : "Answer", typeof answer === "string" ? answer : JSON.stringify(answer))));
  (row.w || []).forEach((other, place) => {
    if (!other) { parts.push(...block(`Answer in ${about.beside[place]}`, "not asked the same")); return; }
    const mark = other.e ? " (failed)" : other.u ? " (unparsed)" : other.ok === undefined ? "" : other.ok ? " (right)" : " (wrong)";
    parts.push(...block(`Answer in ${about.beside[place]}${mark}`, other.e || other.a.map((answer) => typeof answer === "string" ? answer : JSON.stringify(answer)).join("\n")));
  });
  const facts = make("dl", { class: "facts" });
  const fact = (name, value) => facts.append(make("dt", {}, name), make("dd", {}, value));
  for (const [name, found] of Object.entries(row.x)) {
    const rules = (row.r[name] || []).join(", "), pipeline = name === "none" ? "" : ` (${name})`;
    if (!row.o) fact(`extracted${pipeline}`, found.map((item) => item === null ? "nothing" : String(item)).join(" | ") + (rules ? `   by the rule: ${rules}` : ""));
  }
  fact("gold", typeof row.g === "string" ? row.g : JSON.stringify(row.g));
  for (const [name, value] of Object.entries(row.v)) fact(name.replace(/,none$/, ""), typeof value === "object" ? JSON.stringify(value) : String(value));
  detail.replaceChildren(...parts, make("h4", {}, "Extraction and score"), facts);
  detail.scrollTop = 0;
}
function apply(wanted) {
  const task = byId("f-task").value, category = byId("f-category").value, result = byId("f-result").value, words = byId("f-text").value.trim().toLowerCase();
  shown = rows.filter((row) => (!task || row.t === task) && (!category || row.c === category) &&
    (!result || state(row)[0] === result || flip(row) === result || row.s === result || (result === "flipped" && flip(row)) || (result === "wrong" && row.ok === false)) &&
    (!words || row.p.toLowerCase().includes(words) || answerText(row).toLowerCase().includes(words) || String(row.d) === words));
  byId("count").textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
  chosen = -1;
  list.scrollTop = 0;
  const at = wanted ? shown.indexOf(wanted) : shown.length ? 0 : -1;
  if (at >= 0) show(at, !wanted); else { paint(); detail.replaceChildren(make("p", { class: "soft" }, "No sample matches these filters.")); }
}
function fromAddress() {
  const hash = location.hash.slice(1), cut = hash.lastIndexOf("/");
  if (cut < 0) return null;
  let task = hash.slice(0, cut);
  try { task = decodeURIComponent(task); } catch { /* a name with a bare % */ }
  return rows.find((row) => row.t === task && String(row.d) === hash.slice(cut + 1)) || null;
}
function jump() {
  const row = fromAddress();
  if (!row) return;
  for (const id of ["f-task", "f-category", "f-beside", "f-result", "f-text"]) byId(id).value = "";
  apply(row);
  byId("samples").scrollIntoView();
}
function samples() {
  const options = (id, names, all) => byId(id).append(make("option", { value: "" }, all), ...names.map((name) => make("option", { value: name }, name)));
  options("f-task", [...new Set(rows.map((row) => row.t))], "all tasks");
  options("f-category", [...new Set(rows.map((row) => row.c))].filter(Boolean).sort(), "all categories");
  byId("f-beside").append(make("option", { value: "" }, "any run"), ...about.beside.map((name, place) => make("option", { value: place }, name)));
  byId("f-beside").parentElement.hidden = about.beside.length < 2;
  const results = ["right", "wrong", "unparsed", "truncated", "failed"].filter((name) => rows.some((row) => state(row)[0] === name || row.s === name));
  options("f-result", rows.some(flip) ? [...results, "flipped", "lost", "gained"] : results, "all results");
  for (const id of ["f-task", "f-category", "f-beside", "f-result"]) byId(id).addEventListener("change", () => apply());
  let timer = 0;
  byId("f-text").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => apply(), 80); });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  list.addEventListener("scroll", paint, { passive: true });
  list.addEventListener("click", (event) => { const element = event.target.closest(".row"); if (element) show(Number(element.dataset.index)); });
  addEventListener("resize", paint);
  addEventListener("hashchange", jump);
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && typing) { list.focus(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const inList = document.activeElement === list;
    if (event.key === "j" || (inList && event.key === "ArrowDown")) show(chosen + 1);
    else if (event.key === "k" || (inList && event.key === "ArrowUp")) show(chosen - 1);
    else if (event.key === "/") byId("f-text").focus();
    else return;
    event.preventDefault();
  });
  apply();
}
header();
overview();
charts();
samples();
jump();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
