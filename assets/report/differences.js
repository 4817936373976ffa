"use strict";
// The top of a page of differences: which runs, what was asked differently, and the tables
function drawnCell(cell) {
  if (typeof cell === "string") return cell;
  if (cell.kind === "interval") return track(cell, -cell.reach, cell.reach, { zero: 0 });
  const button = make("button", { type: "button", class: "count", title: `Show the documents ${cell.said}` }, String(cell.count));
  const place = countCells.push(cell) - 1;
  button.addEventListener("click", () => showCell(["count", place]));
  return button;
}
function drawnTable(table) {
  const element = make("table", { class: "numbers" }), body = make("tbody", {}), kind = (place) => `${table.head[place][1]}${table.head[place][2] ? " extra" : ""}`;
  element.append(make("thead", {}, make("tr", {}, ...table.head.map(([name], place) => make("th", { class: kind(place) }, name)))), body);
  for (const row of table.rows) {
    const line = make("tr", { class: [row.part && "part", row.marked && "told"].filter(Boolean).join(" ") });
    if (row.part) line.hidden = true;
    row.cells.forEach((cell, place) => line.append(make("td", { class: kind(place) }, drawnCell(cell))));
    body.append(line);
  }
  const below = [], hidden = table.rows.filter((row) => row.part).length, extra = table.head.filter((one) => one[2]).length;
  if (hidden) below.push(moreNumbers(body, hidden));
  if (extra) {
    const button = make("button", { type: "button" }, `Show ${extra} more columns`);
    button.addEventListener("click", () => { element.classList.add("all"); button.remove(); });
    below.push(button);
  }
  return [make("div", { class: "card scroll" }, element), below.length ? make("p", { class: "buttons" }, ...below) : null].filter(Boolean);
}
function drawTop() {
  document.body.classList.add("wide");
  countCells.length = 0;
  PARTS.asked = "How they were asked";
  const head = byId("top"), asked = byId("asked"), section = byId("overview");
  head.append(...[wayBack()].filter(Boolean), make("h1", {}, about.title));
  if (about.sample) head.append(sampleBanner(about.datasets));
  const facts = make("dl", { class: "facts" });
  for (const fact of about.facts) facts.append(make("dt", {}, fact.name), make("dd", {}, fact.text, make("div", { class: "soft" }, fact.link ? make("a", { href: fact.link }, fact.at) : fact.at)));
  asked.append(make("h2", {}, "How they were asked"), facts);
  for (const one of about.differs) asked.append(make("div", { class: "banner" }, make("b", {}, `${one.title}:`), make("ul", {}, ...one.said.map((said) => make("li", {}, ...inCode(said))))));
  for (const one of about.sections) {
    const box = one.folded ? make("details", {}, make("summary", {}, one.title)) : section;
    if (one.folded) section.append(box); else box.append(make("h2", {}, one.title));
    if (one.summary) box.append(make("p", { class: "summary" }, one.summary));
    if (one === about.sections[0] && about.differs.length) section.append(make("p", { class: "hint", id: "remarks" }, make("a", { href: "#asked" }, `⚠ ${[...new Set(about.differs.map((each) => each.title))].join("; ")}`)));
    if (one.figure) box.append(make("img", { class: "figure", src: one.figure, alt: `${one.title} over the steps` }));
    box.append(...one.tables.flatMap(drawnTable));
    if (one.said.length) box.append(make("details", { open: one.said.length <= 4 ? "" : null }, make("summary", { class: "soft" }, "In words, with notes"), make("ul", { class: "said" }, ...one.said.map((said) => make("li", {}, ...inCode(said))))));
    for (const more of one.below || []) box.append(make("h3", {}, more.title), ...drawnTable(more.table));
  }
  section.append(make("p", { class: "hint" }, about.hint));
  if (about.kind === "compare") pairs();
  if (about.slopes?.length) byId("charts").append(make("h2", {}, "Prompts by model"), make("div", { class: "charts" }, ...about.slopes.map(slopes)), make("p", { class: "hint" }, "Whiskers are 95% intervals of each number; the tables say whether two prompts differ, paired by document."));
}
