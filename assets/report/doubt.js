// A card for each document, and the decisions, which stay in the browser until they are saved as a file
const DECISIONS = [["wrong", "the gold is wrong: it is"], ["drop", "no answer is right: drop the document"], ["right", "the gold is right"], ["unsure", "unsure"]];
const placeOf = (line) => JSON.stringify([line.task, line.doc_id, line.gold, line.data || ""]);
const keptAs = `mm-eval doubt ${about.documents.map((each) => placeOf(each.line)).join()}`;
let decided = {};
try { decided = JSON.parse(localStorage.getItem(keptAs)) || {}; } catch { /* a browser that keeps nothing for files */ }
const keep = () => { try { localStorage.setItem(keptAs, JSON.stringify(decided)); } catch { /* the same */ } count(); };
let saved = true;

// The new gold in the form of the old one: a text as it is written, all else as JSON
const asText = (value) => typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);
function read_target(text, gold) {
  if (typeof gold === "string") return text.trim() ? { value: text } : { fault: "write the right answer" };
  let value;
  try { value = JSON.parse(text); } catch { return { fault: `write it as ${JSON.stringify(gold)} is written` }; }
  const kind = (one) => Array.isArray(one) ? "list" : typeof one;
  return kind(value) === kind(gold) ? { value } : { fault: `write it as ${JSON.stringify(gold)} is written` };
}

function lines() {
  const found = [];
  for (const each of about.documents) {
    const mine = decided[placeOf(each.line)];
    if (!mine || !mine.decision) continue;
    const line = { ...each.line, decision: mine.decision };
    if (mine.decision === "wrong") {
      const target = read_target(mine.target ?? asText(each.target), each.line.gold);
      if (target.fault) return { fault: `${each.line.task} doc ${each.line.doc_id}: ${target.fault}` };
      line.target = target.value;
    }
    found.push(line);
  }
  return { found };
}

function count() {
  const made = Object.values(decided).filter((each) => each.decision).length, { fault } = lines();
  byId("count").textContent = fault ? visible(fault) : `${made} of ${about.documents.length} decided${made && !saved ? ", not saved yet" : ""}`;
  byId("download").disabled = Boolean(fault) || !made;
}

function card(each) {
  const key = placeOf(each.line), mine = decided[key] ||= {}, article = make("article", { class: "card doubt", "data-doc": `${each.line.task}/${each.line.doc_id}` });
  const left = make("div"), right = make("div");
  for (const digest of each.images) {
    const at = picture(digest);
    left.append(at ? make("img", { src: at, alt: "picture of the question" }) : make("p", { class: "soft" }, "a picture that the run folder has no copy of"));
  }
  for (const clip of each.clips) left.append(make("p", { class: "soft" }, clip));
  right.append(make("pre", {}, each.prompt));
  if (each.choices.length) right.append(make("ol", { start: 0 }, ...each.choices.map((choice) => make("li", {}, choice))));
  const table = make("table", {}, make("tr", {}, make("td", {}, "gold"), make("td", {}, make("b", {}, each.gold)), make("td")));
  each.said.forEach((said, place) => table.append(make("tr", {}, make("td", {}, about.models[place]), make("td", {}, said ? said[0] || each.gold : "–"), make("td", { class: "soft" }, said ? (said[1] ? "as the gold" : "") : "no answer to compare"))));
  right.append(make("div", { class: "scroll" }, table));
  const more = make("details", {}, make("summary", {}, "The document's columns"), make("dl", { class: "facts" }, ...Object.entries(each.doc).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
  right.append(more);
  const fault = make("span", { class: "fault" }), target = make("input", { type: "text", "aria-label": "the right answer" });
  target.value = mine.target ?? asText(each.target);
  const check = () => { const found = mine.decision === "wrong" ? read_target(target.value, each.line.gold) : {}; fault.textContent = visible(found.fault || ""); };
  const choose = (decision) => { mine.decision = decision; saved = false; check(); keep(); };
  const field = make("fieldset", {}, make("legend", {}, "Decision"));
  for (const [decision, said] of DECISIONS) {
    const radio = make("input", { type: "radio", name: key, value: decision });
    radio.checked = mine.decision === decision;
    radio.addEventListener("change", () => choose(decision));
    field.append(make("label", {}, radio, said));
    if (decision === "wrong") field.append(target, fault);
  }
  target.addEventListener("input", () => { mine.target = target.value; field.querySelector("input[value=wrong]").checked = true; choose("wrong"); });
  check();
  const p = each.probability > .99 ? "above 99%" : `of ${(100 * each.probability).toFixed(0)}%`;
  article.append(make("h3", {}, `${each.line.task} doc ${each.line.doc_id}: the gold is wrong with a probability ${p}`), make("div", { class: "both" }, left, right), field);
  return article;
}

function show() {
  byId("documents").replaceChildren(...about.documents.map(card));
  count();
}

byId("top").append(...[about.sample.length ? sampleBanner(about.sample) : null, make("h1", {}, about.title), make("ul", { class: "said" }, ...about.notes.map((said) => make("li", {}, said)))].filter(Boolean));
byId("download").addEventListener("click", () => {
  const { found } = lines();
  if (!found) return;
  const link = make("a", { download: "decisions.jsonl" });
  link.href = URL.createObjectURL(new Blob(found.map((line) => `${JSON.stringify(line)}\n`), { type: "application/jsonl" }));
  link.click();
  saved = true;
  count();
});
byId("earlier").addEventListener("change", async (event) => {
  const [file] = event.target.files, known = new Set(about.documents.map((each) => placeOf(each.line)));
  if (!file) return;
  let others = 0;
  for (const text of (await file.text()).split("\n").filter((line) => line.trim())) {
    try {
      const line = JSON.parse(text), key = placeOf(line);
      if (!known.has(key)) { others += 1; continue; }
      decided[key] = { decision: line.decision, ...("target" in line ? { target: asText(line.target) } : {}) };
    } catch { others += 1; }
  }
  keep();
  show();
  if (others) byId("count").textContent += `; ${others} lines of the file are of other documents`;
});
addEventListener("beforeunload", (event) => { if (!saved && !localStorageWorks()) event.preventDefault(); });
function localStorageWorks() { try { localStorage.setItem("mm-eval", "1"); return true; } catch { return false; } }
show();
document.documentElement.dataset.ready = "";
