"use strict";
// The top of a page of differences: which runs, what was asked differently, and the tables
function drawnInterval(cell) {
  const width = 150, at = (value) => (width - 8) * (value + cell.reach) / (2 * cell.reach) + 4;
  const svg = draw("svg", { viewBox: `0 0 ${width} 18`, width, height: 18, role: "img" });
  svg.append(draw("title", {}, `95% interval ${number(cell.interval[0])} to ${number(cell.interval[1])}; the line is 0`));
  svg.append(draw("line", { class: "axis", x1: 4, x2: width - 4, y1: 9, y2: 9 }), draw("line", { class: "zero", x1: at(0), x2: at(0), y1: 1, y2: 17 }));
  const [from, to] = cell.interval.map(at);
  svg.append(draw("line", { class: "whisker", x1: from, x2: to, y1: 9, y2: 9 }));
  for (const x of [from, to]) svg.append(draw("line", { class: "whisker", x1: x, x2: x, y1: 5, y2: 13 }));
  svg.append(draw("circle", { class: "dot", cx: at(cell.value), cy: 9, r: 4.5 }));
  return svg;
}
function drawnCell(cell) {
  if (typeof cell === "string") return cell;
  if (cell.kind === "interval") return drawnInterval(cell);
  const button = make("button", { type: "button", class: "count", title: `Show the docs ${cell.said}` }, String(cell.count));
  button.addEventListener("click", () => showOnly(cell));
  return button;
}
function drawnTable(table) {
  const element = make("table", { class: "numbers" }), body = make("tbody", {});
  element.append(make("thead", {}, make("tr", {}, ...table.head.map(([name, kind]) => make("th", { class: kind }, name)))), body);
  for (const row of table.rows) {
    const line = make("tr", { class: [row.part && "part", row.marked && "told"].filter(Boolean).join(" ") });
    if (row.part) line.hidden = true;
    row.cells.forEach((cell, place) => line.append(make("td", { class: table.head[place][1] }, drawnCell(cell))));
    body.append(line);
  }
  const box = [make("div", { class: "card scroll" }, element)], hidden = table.rows.filter((row) => row.part).length;
  if (hidden) {
    const button = make("button", { type: "button" }, `Show ${hidden} more number${hidden === 1 ? "" : "s"}`);
    button.addEventListener("click", () => { for (const line of body.querySelectorAll("tr.part")) line.hidden = false; button.remove(); });
    box.push(make("p", {}, button));
  }
  return box;
}
function drawTop() {
  document.body.classList.add("wide");
  const head = byId("top");
  head.append(make("h1", {}, about.title));
  if (about.sample) head.append(make("div", { class: "banner" }, `Sample data, not ${about.datasets.join(", ")}: drawn for trying mm-eval out, and no result on a benchmark.`));
  const facts = make("dl", { class: "facts" });
  for (const fact of about.facts) facts.append(make("dt", {}, fact.name), make("dd", {}, fact.text, make("div", { class: "soft" }, fact.link ? make("a", { href: fact.link }, fact.at) : fact.at)));
  head.append(facts);
  for (const one of about.differs) head.append(make("div", { class: "banner" }, make("b", {}, `${one.title}:`), make("ul", {}, ...one.said.map((said) => make("li", {}, said)))));
  const section = byId("overview");
  for (const one of about.sections) {
    const box = one.folded ? make("details", {}, make("summary", {}, one.title)) : section;
    if (one.folded) section.append(box); else box.append(make("h2", {}, one.title));
    if (one.figure) box.append(make("img", { class: "figure", src: one.figure, alt: `${one.title} over the steps` }));
    box.append(...one.tables.flatMap(drawnTable));
    for (const said of one.said) box.append(make("p", {}, said));
    for (const more of one.below || []) box.append(make("h3", {}, more.title), ...drawnTable(more.table));
  }
  section.append(make("p", { class: "hint" }, about.hint));
  if (about.kind === "compare") pairs();
  if (about.slopes?.length) byId("charts").append(make("h2", {}, "Prompts by model"), make("div", { class: "charts" }, ...about.slopes.map(slopes)), make("p", { class: "hint" }, "Whiskers are 95% intervals of each number; whether two prompts differ stands in the tables, paired by doc."));
}
