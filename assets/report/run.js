"use strict";
// The top of a run's page: what was measured, the table and the charts
function header() {
  const top = byId("top");
  top.append(make("h1", {}, about.model));
  top.append(make("div", { class: "soft" }, about.table.map((row) => row.alias).join(", ")));
  if (about.sample) top.append(make("div", { class: "banner" }, `Sample data, not ${about.datasets.join(", ")}: drawn for trying mm-eval out, and no result on a benchmark.`));
  const facts = make("dl", { class: "facts" });
  const fact = (name, value) => { if (value !== null && value !== "" && value !== undefined) facts.append(make("dt", {}, name), make("dd", {}, String(value))); };
  if (about.adapter !== about.model) fact("adapter", about.adapter);
  fact("answered by", about.answered_by);
  for (const [task, prompt] of Object.entries(about.prompts)) {
    const said = Object.entries(prompt.kwargs).filter(([, value]) => value !== "").map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", ");
    if (said || prompt.key !== "default") fact(`prompt of ${task}`, said ? `${prompt.key}: ${said}` : prompt.key);
  }
  for (const [task, judges] of Object.entries(about.judges)) {
    judges.forEach((judge, place) => fact(`${["judge", "second judge"][place] || "further judge"} of ${task}`, judge.said));
    if (!judges.length) fact(`judge of ${task}`, "none: not judged");
  }
  const elsewhere = about.imported?.length > 0;  // asked by another suite
  if (!elsewhere) fact("chat template", about.chat ? "applied" : "not applied");
  fact("system", about.system);
  fact("limit", about.limit);
  if (!elsewhere) fact("seed", about.seed);
  const used = about.usage, counted = (name, said) => used[name] ? `${used[name].toLocaleString("en")} ${said}` : null;
  fact("date", about.date);
  fact("wall time", typeof about.seconds === "number" ? duration(about.seconds) + (about.processes > 1 ? ` in ${about.processes} processes` : "") : null);
  fact("tokens", [counted("prompt_tokens", "in prompts"), counted("completion_tokens", "in answers")].filter(Boolean).join(", "));
  fact("cost", about.cost);
  fact("device", about.device);
  fact("dtype", about.dtype);
  fact("parameters", about.parameters ? inWords(about.parameters) : "unknown");
  fact("versions", [`mm-eval ${about.version}`, ...Object.entries(about.libraries).map((pair) => pair.join(" "))].join(", "));
  top.append(make("details", { open: "" }, make("summary", { class: "soft" }, "What was asked, and how"), facts));
}

const inWords = (count) => count < 1e6 ? count.toLocaleString("en") : count < 1e9 ? `${(count / 1e6).toPrecision(3)} million` : `${(count / 1e9).toPrecision(3)} billion`;
const duration = (seconds) => seconds < 60 ? `${seconds.toFixed(1)} s` : [[3600, "h"], [60, "min"], [1, "s"]].map(([size, unit], place, all) => [Math.floor(place ? Math.round(seconds) % all[place - 1][0] / size : Math.round(seconds) / size), unit]).filter(([count]) => count).map((pair) => pair.join(" ")).join(" ");

// What went wrong: each finding with its cause, a command, and links to its examples
function findings() {
  const section = byId("findings"), { shown, more } = about.findings;
  if (!shown.length) return;
  section.append(make("h2", {}, "What went wrong"));
  for (const one of shown) {
    const copy = make("button", { type: "button" }, "Copy");
    copy.addEventListener("click", () => navigator.clipboard?.writeText(one.mend).then(() => { copy.textContent = "Copied"; }, () => {}));
    const examples = one.examples.map((each) => make("li", {}, make("a", { href: addressOf(one.task, each.doc) }, `doc ${each.doc}`), ` ${each.answer} `, make("span", { class: "soft" }, `right: ${each.right}`)));
    section.append(make("details", { class: "card finding", open: shown.length <= 3 ? "" : null }, make("summary", {}, make("b", {}, one.task), ` ${one.kind}: ${one.said}`),
      make("p", {}, make("span", { class: "soft" }, "Likely: "), one.cause, "."),
      one.mend && make("div", { class: "try" }, make("span", { class: "soft" }, "Try"), make("pre", {}, one.mend), copy) || null,
      examples.length ? make("ul", {}, ...examples) : null));
  }
  if (more) section.append(make("p", { class: "hint" }, `${more.toLocaleString("en")} more: mm-eval diagnose lists all.`));
}

// An imported run: the other suite's score beside ours, and the documents that the two rules read otherwise, before all others
function imported() {
  const section = byId("findings"), mark = (value) => typeof value === "number" ? number(value) : value === undefined || value === null ? "none" : JSON.stringify(value);
  for (const one of about.imported || []) {
    const shown = one.docs.map((each) => make("tr", {},
      make("td", {}, make("a", { href: addressOf(one.task, each.doc) }, `doc ${each.doc}`)), make("td", { class: "read" }, each.answer), make("td", { class: "read" }, each.gold),
      make("td", { class: "read" }, each.their_read), make("td", { class: "n" }, mark(each.their_score)), make("td", { class: "read" }, each.our_read), make("td", { class: "n" }, mark(each.our_score))));
    const head = ["", "answer", "gold", "they read", "their score", "we read", "our score"].map((name) => make("th", { class: name.endsWith("score") ? "n" : "" }, name));
    const more = one.differ - one.docs.length;
    section.append(...[make("h2", {}, `${one.task}: the scores of ${one.suite} and ours`), ...one.sentences.map((said) => make("p", {}, said)),
      ...(one.sentences.length ? [] : [make("p", {}, "It has no score for what is measured here.")]),
      shown.length ? make("div", { class: "card scroll readings" }, make("table", { class: "numbers" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...shown))) : null,
      more > 0 && shown.length ? make("p", { class: "hint" }, `${more.toLocaleString("en")} more are in results.json.`) : null,
      ...one.notes.map((note) => make("p", { class: "hint" }, note))].filter(Boolean));
  }
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
  const counts = ["n", "failed", "not_requested", "filtered", "refused", "truncated", "unparsed", "cut", "judge_failed"].filter((name) => !["not_requested", "filtered", "refused", "cut", "judge_failed"].includes(name) || about.table.some((row) => row[name]));
  for (const [text, kind] of [["task"], ["metric"], ["value", "n"], ["95% interval"], [""], ...counts.map((name) => [name === "n" ? "docs" : name === "judge_failed" ? "no verdict" : name.replace("_", " "), "n"])]) head.append(make("th", { class: kind }, text));
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
      line.append(make("td", {}, one.interval ? `${number(one.interval[0], one.value)} to ${number(one.interval[1], one.value)}${one.exact ? " (exact)" : one.few ? " (few docs)" : ""}` : "none"));
      line.append(make("td", {}, typeof one.value === "number" ? intervalDrawing(row, one, low, high) : ""));
      for (const name of counts) {
        const share = name !== "n" && row[name] ? ` (${percent(row[name] / row.n)})` : "";
        line.append(make("td", { class: name !== "n" && row[name] && !index ? "n bad" : "n" }, index ? "" : row[name] + share));
      }
      body.append(line);
    });
  }
  table.append(body);
  const section = byId("overview");
  section.append(make("h2", {}, "Results"));
  for (const said of about.warnings) section.append(make("div", { class: "banner", role: "alert" }, said));
  for (const row of about.table) for (const said of row.warnings) section.append(make("div", { class: "banner", role: "alert" }, `${row.alias}: ${said}`));
  section.append(make("div", { class: "card scroll" }, table));
  if (hidden) {
    const button = make("button", { type: "button" }, `Show ${hidden} more number${hidden === 1 ? "" : "s"}`);
    button.addEventListener("click", () => { for (const line of body.querySelectorAll("tr.part")) line.hidden = false; button.remove(); });
    section.append(make("p", {}, button));
  }
  for (const row of about.table) if (row.bounds) section.append(make("p", { class: "hint" }, `${row.alias}: ${row.judge_failed} docs without a verdict are in no number; with all of them at the lowest or the highest verdict it would be ${row.bounds.map((bound) => number(bound)).join(" or ")}.`));
  for (const row of about.table) for (const note of row.notes) section.append(make("p", { class: "hint" }, `${row.alias}: ${note}`));
  section.append(make("p", { class: "hint" }, "Intervals are 95%, docs on one picture drawn together; exact ones are of numbers with nearly all docs right or wrong. Failed docs are in no number; unparsed answers score 0, unless the benchmark's own rule gives them an answer. A prompt that was cut lost its beginning, since it did not fit into the model's length."));
}

function charts() {
  const section = byId("charts");
  section.replaceChildren();
  for (const task of about.tasks) {
    const boxes = [];
    for (const level of task.levels) {
      const drawing = bars(level.parts, (part) => showCategory(task.name, part.label));
      const box = make("div", { class: level.parts.length > 24 ? "tall" : "" }, drawing);
      boxes.push(make("div", { class: "card" }, make("h3", {}, level.by), box, make("p", { class: "hint" }, "Bars with 95% intervals, and the number of docs. A click on a category shows its samples.")));
    }
    if (task.parts.length > 1) boxes.push(make("div", { class: "card" }, make("h3", {}, task.by), bars(task.parts)));
    for (const sizes of task.sizes) {
      const drawing = bars(sizes.parts, (part) => showCell(["length", task.name, sizes.unit, part.first, part.last]));
      boxes.push(make("div", { class: "card" }, make("h3", {}, sizes.by), drawing, make("p", { class: "hint" }, "The share of right docs by the length of their first answer, with 95% intervals and the number of docs. A click on a length shows its samples.")));
    }
    boxes.push(confusion(task.name));
    const there = boxes.filter(Boolean);
    if (there.length) section.append(make("h2", {}, task.name), make("div", { class: "charts" }, ...there));
  }
}
function drawTop() {
  header();
  overview();
  imported();
  findings();
  charts();
}
