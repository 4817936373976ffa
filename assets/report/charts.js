"use strict";
// Charts whose parts lead to their samples. A cell is a list of texts, which stands in the page's address; CELLS say of each
// kind which rows belong to it: { said: what they are, keep: (row) => boolean }
const CELLS = {
  length: (task, unit, first, last) => ({ said: `samples of ${task} with an answer of ${first === last ? first : `${first} to ${last}`} ${unit}`, keep: (row) => row.t === task && row.ok !== undefined && row.z && row.z[unit === "tokens" ? 1 : 0] !== null && row.z[unit === "tokens" ? 1 : 0] >= Number(first) && row.z[unit === "tokens" ? 1 : 0] <= Number(last) }),
  answer: (task, gold, said) => {
    const of = answersOf(task);
    return { said: `samples of ${task}: gold ${of.show(gold)}, ${said === "none" ? "answer unparsed" : said === "other" ? "another answer" : `answered ${of.show(said)}`}`, keep: (row) => row.t === task && !unscored(row) && clean(row.g) === gold && of.answer(row) === said };
  },
  wrong: (task, said) => ({ said: `samples of ${task} with the wrong answer ${said}`, keep: (row) => row.t === task && row.ok === false && extractedOf(row) === said }),
  pair: (task, a, b, inA, inB) => ({ said: `samples${task ? ` of ${task}` : ""}: ${inA} in ${runName(Number(a))}, ${inB} in ${runName(Number(b))}`, keep: (row) => (!task || row.t === task) && markIn(row, Number(a)) === (inA === "right") && markIn(row, Number(b)) === (inB === "right") }),
};
// Counts of the tables of a comparison, by their places on the page
const countCells = [];
CELLS.count = (place) => {
  const cell = countCells[place], docs = Object.fromEntries(Object.entries(cell?.docs || {}).map(([task, ids]) => [task, new Set(ids)])), model = cell?.model ?? null;
  return { said: cell ? `${cell.count} ${cell.said}` : "no documents", keep: (row) => docs[row.t]?.has(row.d) && (row.m ?? null) === model };
};
function countCell(cell, count, most, same) {
  const said = CELLS[cell[0]](...cell.slice(1)).said;
  const inside = count ? make("button", { type: "button", "aria-label": `${count} ${said}` }, count.toLocaleString("en")) : "0";
  if (count) inside.addEventListener("click", () => showCell(cell));
  const td = make("td", { class: `${same ? "same" : ""}${count ? "" : " zero"}`.trim() }, inside);
  td.style.background = `color-mix(in srgb, var(--fill) ${Math.round(55 * count / Math.max(1, most))}%, transparent)`;
  return td;
}
function bars(parts, choose) {
  // choose(part): shows the samples of a category; undefined where the bars are no categories
  const values = parts.map((part) => [part.value, part.interval || []]).flat(2).filter((value) => typeof value === "number"), share = parts.every((part) => part.share);
  const drawn = parts.map((part) => part.value).filter((value) => typeof value === "number"), reach = 1.25 * Math.max(...drawn, 0.0001);
  const high = share ? 1 : Math.min(reach, Math.max(...values, 0.0001)), low = Math.max(Math.min(0, ...drawn), Math.min(0, ...values)); // a third is a third of the width, also where no category has more
  const box = make("div", { class: `bars${parts.length > 24 ? " tall" : ""}`, role: "group", "aria-label": "score of each category" });
  for (const part of parts) {
    const name = choose ? make("button", { type: "button", class: "choice", title: part.name, "aria-label": `${part.name}: show its ${part.n} samples` }, part.name) : make("span", { title: part.name }, part.name);
    if (choose) name.addEventListener("click", () => choose(part));
    box.append(name, track(part, low, high, { bar: true }), make("b", {}, shownAs(part.value, share, Math.max(...values.map(Math.abs)))), make("small", { class: "soft" }, part.n.toLocaleString("en")));
  }
  return box;
}
const clean = (value) => String(value).trim().toLowerCase();
const extractedOf = (row) => clean(Object.values(row.x || {})[0]?.[0] ?? "");

// What a task's answers came to: one of the labels that are gold, "other", or "none" where nothing was read
const answersRead = {};
function answersOf(task) {
  if (answersRead[task]?.at === rows.length) return answersRead[task];
  const of = rows.filter((row) => row.t === task), choice = of.length && of[0].o ? of[0].o.length : 0;
  let labels = [...new Set(of.map((row) => clean(row.g)))].sort((a, b) => choice ? a - b : a < b ? -1 : 1);
  if (labels.join() === "no,yes") labels = ["yes", "no"];
  const known = new Set(labels);
  const answer = (row) => {
    if (choice) {
      const sums = row.a.slice(0, choice).map((pair) => logLikelihood(pair[0]));
      return String(sums.indexOf(Math.max(...sums)));
    }
    if (row.u) return "none";
    if (row.ok === true) return clean(row.g);
    const extracted = clean(Object.values(row.x)[0]?.[0] ?? "");
    return known.has(extracted) ? extracted : row.ok === false && labels.length === 2 ? labels.find((label) => label !== clean(row.g)) : "other";
  };
  const show = (label) => choice ? String.fromCharCode(65 + Number(label)) : label.length === 1 ? label.toUpperCase() : label;
  return answersRead[task] = { of, labels, answer, show, at: rows.length };
}
// Whether the answers are of a few given ones: options, letters, yes and no, or labels that many documents share
function isClosed(of, labels) {
  const given = labels.every((label) => /^[(\[]?[a-z][)\].]?$/.test(label)) || ["no,yes", "false,true"].includes([...labels].sort().join());
  return Boolean(of.length && of[0].o) || given || of.length >= 5 * labels.length;
}
const MOST_WRONG = 10;
function wrongAnswers(task, of) {
  const counts = new Map();
  for (const row of of) {
    const said = extractedOf(row);
    if (row.ok === false && !row.u && said && said.length <= 60) counts.set(said, (counts.get(said) || 0) + 1);
  }
  const found = [...counts].filter(([, count]) => count > 1).sort((a, b) => b[1] - a[1]).slice(0, MOST_WRONG);
  if (!found.length) return null; // each wrong answer is another one
  const table = make("table", { class: "confusion" }, make("tr", {}, make("th", { scope: "col" }, "answer"), make("th", { scope: "col" }, "documents")));
  for (const [said, count] of found) table.append(make("tr", {}, make("th", { scope: "row" }, said), countCell(["wrong", task, said], count, found[0][1], false)));
  return make("div", { class: "card" }, make("h3", {}, "Most frequent wrong answers"), make("div", { class: "scroll" }, table));
}
function confusion(task) {
  const { of, labels, answer, show } = answersOf(task);
  if (!isClosed(of, labels)) return wrongAnswers(task, of);
  if (labels.length < 2 || labels.length > 12 || labels.some((label) => label.length > 12)) return null;
  const counts = {}, saidIt = {}, goldIt = {};
  let answered = 0;
  for (const row of of) {
    if (unscored(row)) continue;
    const gold = clean(row.g), said = answer(row);
    counts[`${gold}|${said}`] = (counts[`${gold}|${said}`] || 0) + 1;
    if (said === "none") continue;
    answered += 1;
    goldIt[gold] = (goldIt[gold] || 0) + 1;
    saidIt[said] = (saidIt[said] || 0) + 1;
  }
  if (Object.keys(counts).every((pair) => pair.split("|")[0] === pair.split("|")[1])) return null; // all are right
  const extra = ["other", "none"].filter((name) => labels.some((gold) => counts[`${gold}|${name}`])); // a column of zeros says nothing
  const columns = [...new Set([...labels, ...Object.keys(saidIt).filter((label) => /^\d+$/.test(label))]), ...extra.filter((name) => !labels.includes(name))];
  const most = Math.max(1, ...Object.values(counts));
  const table = make("table", { class: "confusion" }), head = make("tr", {}, make("th", {}, "gold ↓ said →"));
  for (const label of columns) head.append(make("th", { scope: "col" }, label === "none" ? "unparsed" : label === "other" ? "another" : show(label)));
  table.append(head);
  for (const gold of labels) {
    table.append(make("tr", {}, make("th", { scope: "row" }, show(gold)), ...columns.map((said) => countCell(["answer", task, gold, said], counts[`${gold}|${said}`] || 0, most, gold === said))));
  }
  const box = make("div", { class: "card" }, make("h3", {}, "Answers against gold"), make("div", { class: "scroll" }, table));
  const bias = (label) => (saidIt[label] || 0) - (goldIt[label] || 0), named = labels[0] === "yes" ? "yes" : [...labels].sort((a, b) => bias(b) - bias(a))[0];
  if (answered >= 20) { // a share of fewer answers says nothing about a preference
    const said = (saidIt[named] || 0) / answered, gold = (goldIt[named] || 0) / answered, verb = named === "yes" ? "Says yes to" : `Picks ${show(named)} for`;
    box.append(make("p", { class: "hint" }, `${verb} ${percent(said)} of the questions that it answered; ${show(named)} is right for ${percent(gold)}.`));
  }
  return box;
}

// Two runs: how many docs each of them answers rightly, a table for each pair
const runName = (place) => place ? about.beside[place - 1] : about.own;
const markIn = (row, place) => place ? row.w?.[place - 1]?.ok : row.ok;
const MOST_PAIRS = 28;
function pairTables(task) {
  const count = about.beside.length + 1, pairs = [];
  for (let a = 0; a < count; a += 1) for (let b = a + 1; b < count; b += 1) if (a === 0 || count * (count - 1) / 2 <= MOST_PAIRS) pairs.push({ a, b, counts: [[0, 0], [0, 0]] });
  for (const row of rows) {
    if (task && row.t !== task) continue;
    for (const pair of pairs) {
      const a = markIn(row, pair.a), b = markIn(row, pair.b);
      if (a !== undefined && b !== undefined) pair.counts[a ? 0 : 1][b ? 0 : 1] += 1;
    }
  }
  const short = (place) => runName(place).split(":")[0], words = ["right", "wrong"];
  return pairs.filter((pair) => pair.counts.flat().some(Boolean)).map(({ a, b, counts }) => {
    const most = Math.max(...counts.flat()), table = make("table", { class: "confusion pair" }, make("caption", {}, `${runName(a)} and ${runName(b)}`));
    table.append(make("tr", {}, make("th", {}, ""), ...words.map((word) => make("th", { scope: "col" }, `${short(b)} ${word}`))));
    words.forEach((inA, x) => table.append(make("tr", {}, make("th", { scope: "row" }, `${short(a)} ${inA}`), ...words.map((inB, y) => countCell(["pair", task, a, b, inA, inB], counts[x][y], most, x === y)))));
    return make("div", { class: "card scroll" }, table);
  });
}
function pairs() {
  const section = byId("charts"), tasks = [...new Set(rows.map((row) => row.t))], box = make("div", { class: "charts" });
  const select = make("select", {}, make("option", { value: "" }, "all tasks"), ...tasks.map((task) => make("option", { value: task }, task)));
  const fill = () => box.replaceChildren(...pairTables(select.value));
  fill();
  if (!box.childElementCount) return;
  select.addEventListener("change", fill);
  section.append(make("h2", {}, "Right and wrong in two runs"));
  if (tasks.length > 1) section.append(make("p", {}, make("label", {}, "Task ", select)));
  section.append(box, make("p", { class: "hint" }, "Documents that both runs answered and that are either right or wrong. Framed cells: the runs agree. A click on a number shows its samples."));
}

// Models and prompts: the main number of each task, coloured where a prompt is significantly better or worse than the first
function promptMap() {
  const many = new Set(about.heat.map((row) => row.model)).size > 1, table = make("table", { class: "heat prompts" });
  table.append(make("thead", {}, make("tr", {}, make("th", {}, many ? "task and model" : "task"), ...about.variants.map((name) => make("th", { scope: "col" }, ...breaking(name))))));
  const body = make("tbody", {});
  let last = "";
  for (const row of about.heat) {
    if (many && row.task !== last) body.append(make("tr", { class: "of" }, make("th", { colspan: about.variants.length + 1 }, row.task, make("small", { class: "soft" }, ` ${row.metric}`))));
    last = row.task;
    const line = make("tr", {}, make("th", { scope: "row" }, many ? row.model : row.task, many ? null : make("small", { class: "soft" }, ` ${row.metric}`)));
    row.cells.forEach((cell, place) => {
      const said = cell ? `${row.model}, ${row.task}, ${about.variants[place]}: ${cell.text} ${cell.spread}${cell.told ? `, significantly ${cell.told > 0 ? "better" : "worse"} than ${about.variants[0]}` : ""}` : "not measured";
      line.append(make("td", { class: cell ? [cell.told > 0 && "up", cell.told < 0 && "down", cell.best && "best"].filter(Boolean).join(" ") : "none", title: said }, ...(cell ? [make("span", { class: "value" }, cell.text), make("small", {}, cell.same ? `as ${cell.same}` : cell.spread)] : ["–"])));
    });
    body.append(line);
  }
  table.append(body);
  return [make("div", { class: "card scroll fit" }, table), make("p", { class: "hint" }, `Blue: significantly better than ${about.variants[0]}; red: worse; paired by document and corrected. Bold: the best number of its row. “as NAME” asked the same.`)];
}
// A task's main number under all prompts, the best prompt first: a dot with its interval for each model
function promptDots(task) {
  const of = about.heat.filter((row) => row.task === task), share = of.every((row) => row.cells.every((cell) => !cell || (cell.value >= 0 && cell.value <= 1 && cell.text !== cell.value.toFixed(2))));
  const ends = of.flatMap((row) => row.cells.flatMap((cell) => cell ? [cell.value, ...(cell.interval || [])] : [])), low = share ? 0 : Math.min(0, ...ends), high = share ? 1 : Math.max(...ends);
  const middle = (place) => { const found = of.map((row) => row.cells[place]?.value).filter((value) => typeof value === "number"); return found.length ? found.reduce((a, b) => a + b, 0) / found.length : -Infinity; };
  const order = about.variants.map((_, place) => place).filter((place) => of.some((row) => row.cells[place] && !row.cells[place].same)).sort((a, b) => middle(b) - middle(a));
  const box = make("div", { class: "dots", role: "group", "aria-label": visible(`${task} by prompt, best first`) });
  for (const place of order) {
    const lanes = make("span", { class: "lanes" });
    of.forEach((row, at) => { if (row.cells[place]) { const lane = track(row.cells[place], low, high, { colour: COLOURS[at % COLOURS.length] }); lane.title = visible(`${row.model}: ${row.cells[place].text} ${row.cells[place].spread}`); lanes.append(lane); } });
    box.append(make("span", {}, ...breaking(about.variants[place])), lanes);
  }
  box.append(make("span"), axisOf(low, high, share));
  const names = of.length > 1 ? make("p", { class: "hint" }, ...of.flatMap((row, at) => [make("span", { class: "series", style: `background:${COLOURS[at % COLOURS.length]}` }), `${row.model} `])) : null;
  return make("div", { class: "card" }, make("h3", {}, `${task} ${of[0].metric}`), box, names);
}
