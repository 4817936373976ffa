"use strict";
// The top of a run's page: what was measured, the table and the charts
// "2-shot", or the fewest and the most where tasks differ; nothing where no task has examples
function shots() {
  const found = about.shots.flatMap((one) => one.split("-").map(Number)), most = Math.max(0, ...found), least = Math.min(...found, most);
  return most ? `${least === most ? most : `${least} to ${most}`}-shot` : "";
}
function copied(text) {
  const copy = make("button", { type: "button" }, "Copy");
  copy.addEventListener("click", () => navigator.clipboard?.writeText(text).then(() => { copy.textContent = "Copied"; }, () => {}));
  return copy;
}
function header() {
  const top = byId("top"), used = about.usage, docs = about.table.filter((row) => !row.group).reduce((sum, row) => sum + row.n, 0);
  top.append(...[wayBack()].filter(Boolean), make("h1", {}, about.model, shots() ? make("small", { class: "soft" }, ` ${shots()}`) : null));
  const said = [`${about.tasks.length} ${about.tasks.length === 1 ? "task" : "tasks"}`, `${docs.toLocaleString("en")} documents`, about.parameters ? `${inWords(about.parameters)} parameters` : null, about.date?.slice(0, 10)];
  top.append(make("div", { class: "soft" }, said.filter(Boolean).join(" · ")));
  if (about.sample) top.append(sampleBanner(about.datasets));
  const facts = make("dl", { class: "facts" });
  const fact = (name, value) => { if (value !== null && value !== "" && value !== undefined) facts.append(make("dt", {}, name), make("dd", {}, String(value))); };
  fact("model", about.model);
  if (about.adapter !== about.model) fact("adapter", about.adapter);
  fact("answered by", about.answered_by);
  const elsewhere = about.imported?.length > 0;  // asked by another suite
  for (const [name, text] of elsewhere ? [] : about.asked) if (name === "command") facts.append(make("dt", {}, name), make("dd", {}, make("code", {}, text), " ", copied(text))); else fact(name, text);
  if (!elsewhere) fact("chat template", about.chat ? "applied" : "not applied");
  fact("system", about.system);
  fact("limit", about.limit);
  if (!elsewhere) fact("seed", about.seed);
  const counted = (name, said) => used[name] ? `${used[name].toLocaleString("en")} ${said}` : null;
  fact("date", about.date);
  fact("wall time", typeof about.seconds === "number" ? duration(about.seconds) + (about.processes > 1 ? ` in ${about.processes} processes` : "") : null);
  fact("tokens", [counted("prompt_tokens", "in prompts"), counted("completion_tokens", "in answers")].filter(Boolean).join(", "));
  fact("cost", about.cost);
  fact("device", about.device);
  fact("dtype", about.dtype);
  fact("parameters", about.parameters ? inWords(about.parameters) : "unknown");
  fact("versions", [`mm-eval ${about.version}`, ...Object.entries(about.libraries).map((pair) => pair.join(" "))].join(", "));
  for (const [task, judges] of Object.entries(about.graders)) {
    judges.forEach((judge, place) => fact(`${["judge", "second judge"][place] || "further judge"} of ${task}`, judge.said));
    if (!judges.length) fact(`judge of ${task}`, "none: not judged");
  }
  for (const [task, prompt] of Object.entries(about.prompts)) {
    const said = Object.entries(prompt.kwargs).filter(([, value]) => value !== "").map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", ");
    if (said || prompt.key !== "default") fact(`prompt of ${task}`, said ? `${prompt.key}: ${said}` : prompt.key);
  }
  byId("asked").append(make("h2", {}, "How it was asked"), facts);
}

const duration = (seconds) => seconds < 60 ? `${seconds.toFixed(1)} s` : [[3600, "h"], [60, "min"], [1, "s"]].map(([size, unit], place, all) => [Math.floor(place ? Math.round(seconds) % all[place - 1][0] / size : Math.round(seconds) / size), unit]).filter(([count]) => count).map((pair) => pair.join(" ")).join(" ");

let findingCount = 0;
// What went wrong: each finding with its cause, a command, and links to its examples
function findings() {
  const section = byId("findings"), { shown, more } = about.findings;
  if (!shown.length) return;
  section.append(make("h2", {}, "What went wrong"));
  findingCount = shown.length + more;
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

// An imported run: the other suite's score beside ours, and the documents that the two rules read differently, before all others
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

// The table, each number with its interval drawn. A task's name leads to its samples, a count to the samples that it counts
const COUNTS = { n: "documents", failed: "failed", not_requested: "not requested", filtered: "filtered", refused: "refused", truncated: "truncated", unparsed: "unparsed", cut: "cut", ungraded: "no verdict" };
const samplesAt = (stated) => `#?${new URLSearchParams(stated)}`;
function countText(row, name) { return `${row[name].toLocaleString("en")}${name !== "n" && row[name] ? ` (${percent(row[name] / row.n)})` : ""}`; }
const isMain = (row, one) => row.main.includes(`${one.metric},${one.filter}`);
function overview() {
  const table = make("table", { class: "numbers results" }), head = make("tr", {}), body = make("tbody", {});
  const counts = Object.keys(COUNTS).filter((name) => name === "n" || about.table.some((row) => row[name]));
  for (const [text, kind] of [["task"], ["metric", "metric"], ["value", "n"], ["95% interval"], ["", "drawn"], ...counts.map((name) => [COUNTS[name], "n count"])]) head.append(make("th", { class: kind }, text));
  table.append(make("thead", {}, head), body);
  let hidden = 0;
  for (const row of about.table) {
    const isTask = about.tasks.some((task) => task.name === row.name);
    [...row.numbers].sort((a, b) => isMain(row, b) - isMain(row, a)).forEach((one, index) => {
      const headline = !index || isMain(row, one), line = make("tr", { class: headline ? "" : "part" });
      if (!headline) { line.hidden = true; hidden += 1; }
      const share = one.share, metric = `${one.metric}${one.filter === "none" ? "" : ` (${one.filter})`}${row.better[one.metric] === false ? " ↓" : ""}`;
      const ends = [one.value, ...(one.interval || [])].filter((value) => typeof value === "number"), size = Math.max(...ends.map(Math.abs));
      const low = Math.min(0, ...ends), high = share ? 1 : Math.max(...about.table.flatMap((each) => each.name === row.name ? each.numbers.flatMap((other) => other.metric === one.metric ? [other.value, ...(other.interval || [])] : []) : []));
      const name = make("td", { class: "name" }, index ? null : isTask ? make("a", { href: samplesAt({ task: row.name }), title: `samples of ${row.name}` }, ...breaking(row.alias)) : make("span", {}, ...breaking(row.alias)));
      // On a phone the metric and what went wrong stand below the name
      const odd = index ? [] : counts.filter((each) => each === "n" || row[each]).map((each) => `${row[each].toLocaleString("en")} ${COUNTS[each]}`);
      name.append(make("small", { class: "on-narrow soft" }, [metric, ...odd].join(" · ")));
      line.append(name, make("td", { class: "metric" }, metric));
      line.append(make("td", { class: "n value", title: typeof one.value === "number" ? String(one.value) : null }, shownAs(one.value, share, size)));
      line.append(make("td", { class: "interval" }, one.interval ? make("span", { class: "nowrap" }, one.interval.map((end) => shownAs(end, share, size)).join(" to ")) : "none", one.interval && (one.exact || one.few) ? make("small", { class: "soft" }, one.exact ? " exact" : " few documents") : null));
      line.append(make("td", { class: "drawn" }, typeof one.value === "number" ? track(one, low, high) : ""));
      for (const each of counts) {
        const bad = each !== "n" && row[each], text = index ? "" : countText(row, each);
        line.append(make("td", { class: `n count${bad && !index ? " bad" : ""}` }, bad && !index && isTask ? make("a", { href: samplesAt({ task: row.name, result: COUNTS[each] }), title: `samples of ${row.name}: ${COUNTS[each]}` }, text) : text));
      }
      body.append(line);
    });
  }
  const section = byId("overview");
  section.append(make("h2", {}, "Results"));
  const warnings = [...about.warnings, ...about.table.flatMap((row) => row.warnings.map((said) => `${row.alias}: ${said}`))];
  if (warnings.length) section.append(make("details", { class: "banner", open: narrow() ? null : "" }, make("summary", {}, `⚠ ${warnings.length === 1 ? "A warning" : `${warnings.length} warnings`}: look at the answers before these numbers`), ...warnings.map((said) => make("p", { role: "alert" }, ...inCode(said)))));
  section.append(make("div", { class: "card scroll" }, table));
  if (hidden) section.append(make("p", {}, moreNumbers(body, hidden)));
  for (const note of about.notes) section.append(make("p", { class: "hint" }, note));
  section.append(make("p", { class: "hint" }, legend(counts).join(" ")));
}

// What the table's words mean, as far as this table has them
function legend(counts) {
  const numbers = about.table.flatMap((row) => row.numbers), has = (name) => numbers.some((one) => typeof one.value === "number" && one[name]);
  return [[has("share"), "Shares are in percent."], [true, "Hover for all digits."], [has("interval"), "Intervals are 95% and treat questions about one picture as one cluster."],
    [has("exact"), "\"exact\" marks scores close to 0 or 100%."], [numbers.some((one) => one.few && !one.exact), "\"few documents\": the interval may be too short."],
    [counts.includes("failed"), "Failed documents are excluded."], [counts.includes("unparsed"), "Unparsed answers score 0, unless the benchmark's own rule gives them an answer."],
    [counts.includes("cut"), "A cut prompt lost its beginning, because it did not fit into the model's length."]].filter(([holds]) => holds).map((each) => each[1]);
}

// Bars tell something if two of them differ, and if no chart before them has the same bars under other names
const looksOf = (parts) => parts.map((part) => [part.n, shownAs(part.value, part.share)].join()).sort().join(";");
const differ = (parts) => new Set(parts.map((part) => shownAs(part.value, part.share))).size > 1;
function charts() {
  const section = byId("charts");
  section.replaceChildren();
  for (const task of about.tasks) {
    const boxes = [], hints = new Set(), looks = new Set();
    const card = (title, parts, choose, clicked) => {
      if (!differ(parts) || looks.has(looksOf(parts))) return;
      looks.add(looksOf(parts));
      hints.add("Small numbers beside bars: documents.");
      if (parts.some((part) => part.interval)) hints.add("Lines on bars: 95% intervals.");
      if (choose) hints.add(clicked);
      boxes.push(make("div", { class: "card" }, make("h3", {}, title), bars(parts, choose)));
    };
    const category = (part) => showCategory(task.name, part.label), samplesOf = "A click on a category shows its samples.";
    for (const level of task.levels) if (level.parts.some((part) => part.n > 1)) card(level.by, level.parts, category, samplesOf);
    card(task.by, task.parts, task.parts.every((part) => part.label) ? category : null, samplesOf);
    for (const sizes of task.sizes) card(sizes.by, sizes.parts, (part) => showCell(["length", task.name, sizes.unit, part.first, part.last]), "Lengths are those of the first answer; a click on one shows its samples.");
    const matrix = confusion(task.name);
    if (matrix) boxes.push(matrix), hints.add(`${matrix.querySelector(".same") ? "Framed cells: right answers. " : ""}A click on a count shows its samples.`);
    if (boxes.length) section.append(make("h2", {}, task.name), make("div", { class: "charts" }, ...boxes), hints.size ? make("p", { class: "hint" }, [...hints].join(" ")) : "");
  }
}
function drawTop() {
  header();
  overview();
  imported();
  findings();
  charts();
}
