"use strict";
// The samples: a list that draws only what is in view, so that 20,000 are as quick as 20
const HEIGHT = 64, TILE = { width: 128, height: 146 };
let shown = rows, chosen = -1, only = null, opening = "";
const list = byId("list"), spacer = byId("spacer"), detail = byId("detail");
const unscored = (row) => row.s === "failed" || row.s === "not requested";
// Verdicts: of each judge those of its steps or repeats; one is unreadable where nothing could be read from its reply
const unreadable = (row) => (row.j || []).some((judge) => judge.e.some((one) => one.v === null));
const unjudged = (row) => !!row.j && row.ok === undefined && row.j[0].e.every((one) => one.v === null);
const shownVerdict = (one) => one.v === null ? `nothing: ${one.r === null ? "no reply" : "unreadable"}` : typeof one.v === "object" ? JSON.stringify(one.v) : String(one.v);
const state = (row) => about.kind === "live" && !unscored(row) ? [row.s, "other", "•"] : unscored(row) ? [row.s, "other", "⚠"] : unjudged(row) ? ["no verdict", "other", "⚠"] : row.u ? ["unparsed", "other", "?"] : row.ok === true ? ["right", "right", "✓"] : row.ok === false ? ["wrong", "wrong", "✗"] : ["scored", "other", "•"];
// Runs beside a sample: of `held` (all, or the chosen one) the first in which a right answer became a wrong one, or the reverse
const turned = (row) => (row.w || []).findIndex((one, place) => one && (!byId("f-beside").value || place === Number(byId("f-beside").value)) && one.ok !== undefined && row.ok !== undefined && one.ok !== row.ok);
const flip = (row) => {
  const place = turned(row);
  return place < 0 ? "" : row.w[place].ok === ["run", "curve"].includes(about.kind) ? "lost" : "gained";
};
// A row's categories: those that its task declares, else the one that a column of the doc suggests
const categoriesOf = (row) => [].concat(row.c).filter(Boolean);
// The turns of a conversation, of each repeat a list
const usesCode = (row) => (row.n || []).some((turns) => turns.some((turn) => turn.c));
const turnsOf = (row) => row.n ? `turns: ${Math.max(...row.n.map((turns) => turns.length))}` : "";
const answerText = (row) => row.a.map((answer) => typeof answer === "string" ? answer : JSON.stringify(answer)).join(" | ");
const modelOf = (row) => row.m === undefined ? "" : about.models[row.m];
const addressOf = (task, doc) => `#${encodeURIComponent(task).replace(/%3A/g, ":").replace(/%40/g, "@")}/${doc}`;
// The same sample of another model: on its own page, or through the page of the release, which knows whether there is one
const sameSample = (one, row) => one.link.includes("#?") ? `${one.link}&${new URLSearchParams({ at: addressOf(row.t, row.d) })}` : `${one.link}${addressOf(row.t, row.d)}`;
const address = (row) => about.models?.length > 1 ? `#${encodeURIComponent(modelOf(row))}/${addressOf(row.t, row.d).slice(1)}` : addressOf(row.t, row.d);
// The options of a question: log-likelihood tasks state them; else the lines of the prompt that begin with a letter, after the last A
function optionsOf(row) {
  if (row.o) return Object.fromEntries(row.o.map((text, place) => [String.fromCharCode(65 + place), text.trim()]));
  const lines = [...row.p.matchAll(/^[ \t]*(?:\(([A-Z])\)|([A-Z])[.):])[ \t]+(\S.*)$/gm)].map(([, one, other, text]) => [one || other, text.trim()]);
  return Object.fromEntries(lines.slice(Math.max(0, lines.findLastIndex(([letter]) => letter === "A"))));
}
function withOption(row, text) {
  const letter = /^\s*\(?([A-Z])[).]?\s*$/.exec(text)?.[1], option = letter && optionsOf(row)[letter];
  return option && option !== letter ? `${text} (${option})` : text;
}
function chosenOf(row) {
  if (!row.o) return withOption(row, answerText(row));
  const sums = row.a.slice(0, row.o.length).map((pair) => logLikelihood(pair?.[0])), best = sums.indexOf(Math.max(...sums));
  return best < 0 ? answerText(row) : `${String.fromCharCode(65 + best)} (${row.o[best].trim()})`;
}
const goldOf = (row) => typeof row.g === "string" ? withOption(row, row.g) : row.o && typeof row.g === "number" && row.o[row.g] !== undefined ? withOption(row, String.fromCharCode(65 + row.g)) : JSON.stringify(row.g);

function label(row) {
  const [name, kind, sign] = state(row), place = turned(row);
  return make("span", { class: `state ${kind}` }, `${sign} ${name}${place < 0 ? "" : `, but ${row.ok ? "wrong" : "right"} in ${about.beside[place].replace(/^([A-Z]|run \d+): .*/, "$1")}`}`);
}
// Of each picture whether an example shows it or the question; nothing where no example shows one
const turnsOfPictures = (row) => (row.tp || []).flatMap((count, turn, all) => Array(count).fill(turn < all.length - 1 ? `example ${turn + 1}` : "question"));
function rowElement(index) {
  const row = shown[index], element = make("div", { class: index === chosen ? "row chosen" : "row", role: "option", id: `row-${index}`, "data-index": index, "aria-posinset": index + 1, "aria-setsize": shown.length, "aria-selected": String(index === chosen) });
  const { top, left } = placeOf(index);
  element.style.top = `${top}px`;
  if (inGrid()) Object.assign(element.style, { left: `${left}px`, right: "auto", width: `${TILE.width}px`, height: `${TILE.height}px` });
  const own = row.images?.[row.images.length - (row.tp?.at(-1) || row.images.length)], source = own && picture(own);
  if (source) element.append(missingAs(make("img", { src: source, alt: "", loading: "lazy" }), () => make("div", { class: "blank" })));
  else if (row.images || row.y || inGrid()) element.append(make("div", { class: "blank" }, row.y ? "♪" : ""));
  else element.classList.add("bare"); // text alone
  element.append(make("div", {}, make("div", { class: "one" }, label(row), make("span", { class: "soft" }, `${about.models?.length > 1 ? `${modelOf(row)} · ` : ""}${row.t} ${row.d}${categoriesOf(row).map((name) => ` · ${name}`).join("")}`)), make("div", { class: "two" }, chosenOf(row) || "(empty)")));
  return element;
}
// Where a sample is in the list: a line of its own, or a tile beside others
const inGrid = () => byId("f-view").value === "grid";
const lineHeight = () => inGrid() ? TILE.height : HEIGHT;
const perLine = () => inGrid() ? Math.max(1, Math.floor(list.clientWidth / TILE.width)) : 1;
const placeOf = (index) => ({ top: Math.floor(index / perLine()) * lineHeight(), left: index % perLine() * TILE.width });
function paint() {
  byId("browser").classList.toggle("grid", inGrid());
  const height = lineHeight(), beside = perLine();
  const first = Math.max(0, Math.floor(list.scrollTop / height) - 4) * beside, last = Math.min(shown.length, first + (Math.ceil(list.clientHeight / height) + 9) * beside);
  spacer.style.height = `${Math.ceil(shown.length / beside) * height}px`;
  const elements = [spacer];
  for (let index = first; index < last; index += 1) elements.push(rowElement(index));
  list.replaceChildren(...elements);
  if (chosen >= first && chosen < last) list.setAttribute("aria-activedescendant", `row-${chosen}`); else list.removeAttribute("aria-activedescendant");
}
// A picture of a sample. One that is not there says where it is; one that is there in full size opens it
function missingAs(img, instead) {
  img.addEventListener("error", () => img.replaceWith(instead()));
  return img;
}
function pictureElement(digest, alt) {
  const source = picture(digest), full = fullSize(digest);
  const absent = () => make("span", { class: "soft" }, `picture ${nameOf(digest).slice(0, 12)} is not ${about.where ? `in this page: ${source ? `look in media/ of ${about.where}` : `it was not kept in ${about.where}`}` : "here"}`);
  if (!source) return absent();
  if (!full) return missingAs(make("img", { src: source, alt, loading: "lazy" }), absent);
  const button = make("button", { type: "button", class: "zoom", "aria-label": `${alt} in full size` });
  button.append(missingAs(make("img", { src: source, alt, loading: "lazy" }), absent));
  button.addEventListener("click", () => zoom(full, alt));
  return button;
}
function zoom(address, alt) {
  const close = make("button", { type: "button" }, "Close"), img = make("img", { src: address, alt });
  const dialog = make("dialog", { class: "zoom", "aria-label": `${alt} in full size` }, make("p", {}, close, " ", make("a", { href: address, target: "_blank", rel: "noopener" }, "Open alone"), make("span", { class: "soft" }, " A click on the picture shows it pixel by pixel.")), img);
  img.addEventListener("click", () => dialog.classList.toggle("pixels"));
  missingAs(img, () => make("p", {}, "This picture is no longer in the data of the run; the page has its thumbnail."));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
// A sound of a sample: the outline of its wave, where a click plays from, and the browser's own player
const soundAddress = (digest) => about.pictures ? fullSize(digest) : picture(digest);
function soundElement([digest, seconds, rate, channels, name], place) {
  const said = `${name || `sound ${place + 1}`}: ${seconds.toFixed(2)} s, ${rate.toLocaleString("en")} Hz, ${channels === 1 ? "mono" : channels === 2 ? "stereo" : `${channels} channels`}`;
  const source = soundAddress(digest), caption = make("figcaption", {}, said), figure = make("figure", { class: "sound" });
  const absent = () => make("span", { class: "soft" }, `This sound is not ${about.where ? `in this page: it was not kept in media/ of ${about.where}` : "here"}`);
  if (!source) { figure.append(absent(), caption); return figure; }
  const player = make("audio", { controls: "", preload: "none", src: source, "aria-label": said });
  player.addEventListener("error", () => player.replaceWith(absent()));
  const outline = about.pictures ? null : picture(`${digest}~`), loud = outline ? outline.match(/../g).map((pair) => parseInt(pair, 16) / 255) : [];
  if (loud.length) {
    const wave = draw("svg", { class: "wave", viewBox: `0 0 ${4 * loud.length} 48`, preserveAspectRatio: "none", role: "img", "aria-label": `The wave of ${said}` });
    const bars = loud.map((height, at) => { const half = Math.max(.5, 22 * height), bar = draw("rect", { x: 4 * at, y: 24 - half, width: 3, height: 2 * half }); wave.append(bar); return bar; });
    player.addEventListener("timeupdate", () => bars.forEach((bar, at) => bar.classList.toggle("past", at < bars.length * player.currentTime / (player.duration || seconds))));
    wave.addEventListener("click", (event) => { const box = wave.getBoundingClientRect(); player.currentTime = (player.duration || seconds) * (event.clientX - box.left) / box.width; player.play(); });
    figure.append(wave);
  }
  figure.append(player, caption);
  return figure;
}
// What turns a reference into what was said, by the fewest errors, and among those with the most that is right: [kind, reference,
// said] of each word or character
const MOST_ALIGNED = 4e6, ERROR = 1e6;
function aligned(reference, said) {
  const wide = said.length + 1;
  if (wide * (reference.length + 1) > MOST_ALIGNED) return null;
  const cost = new Float64Array(wide * (reference.length + 1));
  for (let column = 0; column < wide; column += 1) cost[column] = ERROR * column;
  for (let line = 1; line <= reference.length; line += 1) {
    cost[line * wide] = ERROR * line;
    for (let column = 1; column < wide; column += 1) {
      const at = line * wide + column;
      cost[at] = Math.min(cost[at - wide - 1] + (reference[line - 1] === said[column - 1] ? -1 : ERROR), cost[at - wide] + ERROR, cost[at - 1] + ERROR);
    }
  }
  const found = [];
  for (let line = reference.length, column = said.length; line || column;) {
    const at = line * wide + column;
    if (line && column && cost[at] === cost[at - wide - 1] + (reference[line - 1] === said[column - 1] ? -1 : ERROR)) { line -= 1; column -= 1; found.push([reference[line] === said[column] ? "same" : "other", reference[line], said[column]]); }
    else if (line && cost[at] === cost[at - wide] + ERROR) { line -= 1; found.push(["lost", reference[line], ""]); }
    else { column -= 1; found.push(["added", "", said[column]]); }
  }
  return found.reverse();
}
// The errors of a transcription in colour, as the metric compared it: normalised
const isRate = (name, value) => /^(wer|cer)(,|$)/.test(name) && Array.isArray(value) && Array.isArray(value[0]) && typeof value[1] === "string";
function alignmentElement(name, [references, said]) {
  const units = (text) => name.startsWith("cer") ? [...text] : text.split(" ").filter(Boolean), gap = name.startsWith("cer") ? "" : " ";
  const errors = (found) => found.filter(([kind]) => kind !== "same").length;
  const tried = references.map((one) => [units(one).length, aligned(units(one), units(said))]).filter(([, found]) => found);
  if (!tried.length) return make("p", { class: "soft" }, "These texts are too long to be shown beside each other.");
  const [length, found] = tried.reduce((best, one) => errors(one[1]) / Math.max(1, one[0]) < errors(best[1]) / Math.max(1, best[0]) ? one : best);
  const count = (kind) => found.filter(([each]) => each === kind).length;
  const text = make("p", { class: "aligned" });
  for (const [kind, truth, answer] of found) {
    if (kind === "same") text.append(visible(truth), gap);
    else text.append(make("span", { class: kind, title: kind === "other" ? `${answer} for ${truth}` : kind === "lost" ? `${truth} is missing` : `${answer} was added` }, truth ? make("del", {}, truth) : null, truth && answer ? " " : null, answer ? make("ins", {}, answer) : null), gap);
  }
  const what = name.startsWith("cer") ? "characters" : "words";
  return make("div", {}, text, make("p", { class: "hint" }, `${errors(found)} errors in ${length} ${what} of the reference: ${count("other")} replaced, ${count("lost")} missing, ${count("added")} added. The reference is struck out, the answer is underlined.`));
}
function block(title, text) { return [make("h4", {}, title), make("pre", {}, text === "" ? "(empty)" : text)]; }
function marked(title, text) {
  const words = searched().words, [head, pre] = block(title, text);
  const at = words ? text.toLowerCase().indexOf(words.toLowerCase()) : -1;
  if (at >= 0) pre.replaceChildren(visible(text.slice(0, at)), make("mark", {}, text.slice(at, at + words.length)), visible(text.slice(at + words.length)));
  return [head, pre];
}
function verdicts(row, judge) {
  // What one judge said of the answer, and what was read from it
  const parts = [], name = judge.n || about.graders?.[row.t]?.[0]?.name || "";
  judge.e.forEach((one, place) => {
    const of = `${one.w ? ` on answer ${one.w}` : ""}${judge.e.length > 1 ? `, ${place + 1} of ${judge.e.length}` : ""}`, version = one.m && one.m !== name ? ` (${one.m})` : "";
    const box = make("section", { class: "verdict" }, make("h4", {}, `Judge${name ? ` ${name}` : ""}${version}${of}`));
    if (one.r !== null && one.r !== undefined) box.append(...marked("Its reply", one.r));
    if (one.b) box.append(make("p", { class: "hint" }, "An empty answer is not sent: this is the verdict that the task states for it."));
    if (one.e) box.append(...block("Failed", one.e));
    const facts = make("dl", { class: "facts" }, make("dt", {}, "read"), make("dd", { class: one.v === null ? "bad" : "" }, shownVerdict(one)));
    if (one.a) facts.append(make("dt", {}, "attempts"), make("dd", {}, String(one.a)));
    box.append(facts);
    if (one.p) box.append(make("details", {}, make("summary", { class: "soft" }, "Its prompt"), make("pre", {}, one.p)));
    parts.push(box);
  });
  if (row.jd && judge === row.j[row.j.length - 1]) parts.push(make("p", { class: "banner" }, "The judges disagree."));
  return parts;
}
// The code that an answer ran, folded: with what it returned, and how it ended
function codeOf(calls) {
  return calls.map((call, number) => {
    const lines = call.c.split("\n").length, name = calls.length > 1 ? `Code ${number + 1} of ${calls.length}` : "Code";
    const said = [`${lines} line${lines === 1 ? "" : "s"}`, call.e, call.i ? `${call.i.length} picture${call.i.length === 1 ? "" : "s"}` : "", `${call.s} s`].filter(Boolean).join(", ");
    const box = make("details", { class: "code" }, make("summary", {}, `${name}: ${said}`), ...marked("Code", call.c), ...marked("Returned", call.o));
    if (call.i) { const pictures = make("div", { class: "pictures" }); call.i.forEach((digest, place) => pictures.append(pictureElement(digest, `picture ${place + 1} that code returned`))); box.append(pictures); }
    return box;
  });
}
function conversation(turns, of) {
  // What was said, shown and answered in each turn
  return turns.map((turn, place) => {
    const box = make("section", { class: "verdict turn" }, make("h4", {}, `Turn ${place + 1}${of}`));
    const results = place > 0 && turns[place - 1].c; // they stand with the code
    if (turn.i) {
      const shownHere = make("div", { class: "pictures" });
      turn.i.forEach((digest, number) => shownHere.append(pictureElement(digest, `turn ${place + 1}, picture ${number + 1}`)));
      box.append(shownHere);
    }
    if (turn.p && results) box.append(make("details", {}, make("summary", { class: "soft" }, "Its results, as told to the model"), make("pre", {}, turn.p)));
    else if (turn.p) box.append(...marked("Said to the model", turn.p));
    if (turn.h) box.append(make("details", { class: "reasoning" }, make("summary", { class: "soft" }, `Its reasoning (${turn.h.length} characters)`), make("pre", {}, turn.h)));
    if (turn.x) box.append(...block("Failed", turn.x));
    else if (turn.c) box.append(make("details", {}, make("summary", { class: "soft" }, `Its answer as it was written (${(turn.a ?? "").length} characters)`), make("pre", {}, turn.a ?? "")), ...codeOf(turn.c));
    else box.append(...marked("Answer", turn.a ?? ""));
    const facts = make("dl", { class: "facts" });
    const fact = (name, value) => facts.append(make("dt", {}, name), make("dd", {}, value));
    if (turn.e && turn.e !== "stop") fact("ended", turn.e);
    if (turn.k) fact("tokens", `${(turn.k[0] ?? 0).toLocaleString("en")} of the prompt, ${(turn.k[1] ?? 0).toLocaleString("en")} of the answer`);
    if (turn.s !== undefined) fact("time", `${turn.s} s after the previous turn`);
    if (facts.children.length) box.append(facts);
    return box;
  });
}
function strips(row, box) {
  // The frames of each video side by side, with their times
  const elements = [...box.children];
  for (const [first, seconds, name] of row.f || []) {
    const strip = make("div", { class: "strip", title: name });
    elements[first].before(strip);
    seconds.forEach((time, place) => strip.append(make("figure", {}, elements[first + place], make("figcaption", {}, `${time.toFixed(2)} s`))));
  }
}
// keepAddress: the page opened it, not the reader. click: with an address of its own; so has the first sample that keys choose
function show(index, keepAddress, click) {
  if (index < 0 || index >= shown.length) return;
  chosen = index;
  const row = shown[index];
  if (!keepAddress) history[click || location.hash.startsWith("#?") ? "pushState" : "replaceState"](null, "", address(row));
  const { top } = placeOf(index), height = lineHeight();
  if (top < list.scrollTop) list.scrollTop = top;
  if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
  paint();
  const back = make("button", { type: "button", class: "on-narrow" }, "← All samples"), copy = make("button", { type: "button", id: "copy" }, "Copy link"), markdown = make("button", { type: "button", id: "copy-markdown" }, "Copy as Markdown");
  markdown.addEventListener("click", () => navigator.clipboard?.writeText(asMarkdown(row)).then(() => { markdown.textContent = "Copied"; }, () => {}));
  back.addEventListener("click", () => land(byId("samples")));
  copy.addEventListener("click", () => navigator.clipboard?.writeText(location.href).then(() => { copy.textContent = "Copied"; }, () => {}));
  const parts = [make("div", { class: "head" }, make("h3", {}, `${row.t}, doc ${row.d}${row.c.length ? ` (${categoriesOf(row).join(", ")})` : ""}`), make("span", {}, label(row), " ", copy, " ", markdown, " ", back))];
  if (about.siblings?.length) parts.push(make("p", { class: "hint", id: "siblings" }, "The same sample of: ", ...about.siblings.flatMap((one, place) => [place ? ", " : "", make("a", { href: sameSample(one, row) }, one.name)])));
  if (row.images) {
    const box = make("div", { class: "pictures" });
    const of = turnsOfPictures(row);
    row.images.forEach((digest, place) => box.append(of[place] ? make("figure", { class: "of" }, pictureElement(digest, of[place]), make("figcaption", {}, of[place])) : pictureElement(digest, `picture ${place + 1}`)));
    strips(row, box);
    parts.push(box);
  }
  if (row.y) parts.push(make("div", { class: "sounds" }, ...row.y.map(soundElement)));
  parts.push(...marked(`Prompt, as asked${about.own ? ` in ${about.own}` : ""}`, row.p));
  if (row.k) parts.push(make("p", { class: "hint" }, "The prompt was cut: the model did not get its beginning."));
  if (row.e) parts.push(...block(row.s === "not requested" ? "Not requested" : "Failed", row.e));
  if (row.rs) parts.push(make("p", { class: "banner" }, `Continued after an interruption: when its code was run again, ${row.rs.length === 1 ? `call ${row.rs[0]}` : `calls ${row.rs.join(", ")}`} returned something else. The model was shown what is recorded.`));
  (row.n || []).forEach((turns, place) => parts.push(...conversation(turns, row.n.length > 1 ? `, answer ${place + 1} of ${row.n.length}` : "")));
  const answers = []; // of all runs, side by side
  if (row.o) answers.push(block("Choices, with log-likelihood in nats", row.o.map((text, place) => `${place === row.g || (Array.isArray(row.g) && row.g.includes(place)) ? "→" : " "} ${logLikelihood(row.a[place]?.[0]).toFixed(3)}  ${text}`).join("\n")));
  else row.a.forEach((answer, place) => {
    const box = marked(`Answer${row.a.length > 1 ? ` ${place + 1}` : ""}${about.own ? ` in ${about.own} (${state(row)[0]})` : ""}`, typeof answer === "string" ? answer : JSON.stringify(answer));
    const thought = row.h?.[place]; // of an answer that was recorded whole it is a part
    if (thought) box.push(make("details", { class: "reasoning" }, make("summary", { class: "soft" }, `Its reasoning, which is not read (${thought.length} characters)`), make("pre", {}, thought)));
    answers.push(box);
  });
  (row.w || []).forEach((other, place) => {
    if (other === 0) return; // left out on purpose
    if (!other) { answers.push(block(`Answer in ${about.beside[place]}`, "asked differently")); return; }
    const mark = other.e ? " (failed)" : other.u ? " (unparsed)" : other.ok === undefined ? "" : other.ok ? " (right)" : " (wrong)";
    const box = [...block(`Answer in ${about.beside[place]}${mark}`, other.e || other.a.map((answer) => typeof answer === "string" ? answer : JSON.stringify(answer)).join("\n"))];
    if (other.p !== undefined) box.push(make("details", {}, make("summary", { class: "soft" }, `Its prompt in ${about.beside[place]}`), make("pre", {}, other.p)));
    answers.push(box);
  });
  parts.push(make("div", { class: "answers" }, ...answers.map((one) => make("section", {}, ...one))));
  for (const judge of row.j || []) parts.push(...verdicts(row, judge));
  const facts = make("dl", { class: "facts" });
  const fact = (name, value) => facts.append(make("dt", {}, name), make("dd", {}, value));
  for (const [name, found] of Object.entries(row.x)) {
    const rules = (row.r[name] || []).join(", "), pipeline = name === "none" ? "" : ` (${name})`;
    if (!row.o) fact(`extracted${pipeline}`, found.map((item) => item === null ? "nothing" : withOption(row, String(item))).join(" | ") + (rules ? `   by the rule: ${rules}` : ""));
  }
  fact("gold", goldOf(row));
  if (row.z?.length > 2) fact("tokens", `${row.z[2] ? `${row.z[2].toLocaleString("en")} in the prompt, ` : ""}${row.z[1].toLocaleString("en")} in the answer`);
  if (row.z?.[3]) fact("answered", new Date(1000 * row.z[3]).toISOString().replace("T", " ").slice(0, 19) + " UTC" + (row.z[4] ? `, after ${row.z[4]} s` : ""));
  const rates = Object.entries(row.v).filter(([name, value]) => isRate(name, value));
  for (const [name, value] of rates) parts.push(make("h4", {}, `Errors (${name.replace(/,none$/, "")})`), alignmentElement(name, value));
  for (const [name, value] of Object.entries(row.v)) if (!isRate(name, value)) fact(name.replace(/,none$/, ""), typeof value === "object" ? JSON.stringify(value) : String(value));
  detail.replaceChildren(...parts, make("h4", {}, "Extraction and score"), facts);
  detail.scrollTop = 0;
}
// What a sample can be sorted and filtered by; undefined where it has none
const VALUES = {
  length: (row) => row.z?.[0], tokens: (row) => row.z?.[1] ?? undefined, prompt: (row) => row.z?.[2], time: (row) => row.z?.[3], seconds: (row) => row.z?.[4] || undefined, doc: (row) => row.d,
  score: (row) => row.ok !== undefined ? Number(row.ok) : Object.values(row.v).find((value) => typeof value === "number"),
};
const COMPARED = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, "=": (a, b) => a === b, ">=": (a, b) => a >= b, ">": (a, b) => a > b };
// The words of a search and its conditions, such as tokens>50
function searched() {
  const conditions = [], words = byId("f-text").value.replace(/(^|\s)(length|tokens|prompt|seconds|score|doc)\s*(<=|>=|<|>|=)\s*(-?\d+(?:\.\d+)?)(?=\s|$)/gi, (_, before, name, sign, number) => { conditions.push((row) => { const value = VALUES[name.toLowerCase()](row); return value !== undefined && COMPARED[sign](value, Number(number)); }); return before; }).trim();
  return { words, conditions };
}
// Sorted by a value; samples without it come last, equal ones stay as recorded
function sorted(found) {
  const by = byId("f-sort").value, value = VALUES[by.replace("-", "")], sign = by.startsWith("-") ? -1 : 1;
  if (!value) return found;
  const keyed = found.map((row) => [value(row), row]);
  keyed.sort(([a], [b]) => a === undefined || b === undefined ? (a === undefined) - (b === undefined) : sign * (a - b));
  return keyed.map(([, row]) => row);
}
// The samples that are shown, as a file: a line for each
function exported(kind) {
  const lines = shown.map((row) => ({ ...(about.models?.length > 1 ? { model: modelOf(row) } : {}), task: row.t, doc: row.d, result: state(row)[0], categories: categoriesOf(row), prompt: row.p, gold: row.g, answers: row.a, extracted: row.x, scores: row.v, length: row.z?.[0] ?? null, tokens: row.z?.[1] ?? null, seconds: row.z?.[4] || null, ...(row.e ? { error: row.e } : {}) }));
  if (kind === "jsonl") return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const names = [...new Set(lines.flatMap((line) => Object.keys(line)))];
  const cell = (value) => { const text = value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value); return `"${(typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`; }; // no text starts a formula
  return [names, ...lines.map((line) => names.map((name) => line[name]))].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}
function download(kind) {
  const link = make("a", { href: URL.createObjectURL(new Blob([exported(kind)], { type: kind === "csv" ? "text/csv" : "application/jsonl" })), download: `samples.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
// A sample as Markdown, for an issue or a chat; a text is fenced by more backticks than it has
function asMarkdown(row) {
  const fence = (text) => { const ticks = "`".repeat(Math.max(3, 1 + Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length)))); return `${ticks}text\n${text}\n${ticks}`; };
  const answers = row.o ? [chosenOf(row)] : row.a.map((answer) => typeof answer === "string" ? answer : JSON.stringify(answer));
  const extracted = Object.values(row.x).flat().map((item) => item === null ? "nothing" : typeof item === "string" ? item : JSON.stringify(item)).join(" | ");
  return [`**${row.t}, doc ${row.d}**: ${state(row)[0]}${modelOf(row) || about.model ? ` (${modelOf(row) || about.model})` : ""}`, "Prompt:", fence(row.p), ...answers.flatMap((answer) => ["Answer:", fence(answer)]), `Gold: ${goldOf(row)}${extracted ? `; extracted: ${extracted}` : ""}`].map(visible).join("\n\n");
}
// Whether a row is one that the filters ask for
function matching() {
  const task = byId("f-task").value, category = byId("f-category").value, result = byId("f-result").value, { words: said, conditions } = searched(), words = said.toLowerCase();
  const model = byId("f-model").value;
  return (row) => (!only || only.keep(row)) && conditions.every((holds) => holds(row)) && (!model || row.m === Number(model)) && (!task || row.t === task) && (!category || categoriesOf(row).includes(category)) &&
    (!result || state(row)[0] === result || flip(row) === result || row.s === result || turnsOf(row) === result || (result === "cut" && row.k) || (result === "code" && usesCode(row)) || (result === "restored" && row.rs) || (result === "flipped" && flip(row)) || (result === "judges disagree" && row.jd) || (result === "unreadable" && unreadable(row)) || (result === "wrong" && row.ok === false)) &&
    (!words || row.p.toLowerCase().includes(words) || answerText(row).toLowerCase().includes(words) || (row.j || []).some((judge) => judge.e.some((one) => (one.r || "").toLowerCase().includes(words))) || (row.n || []).flat().some((turn) => `${turn.p || ""} ${turn.a || ""}`.toLowerCase().includes(words)) || String(row.d) === words);
}
function noSample() {
  if (about.kind === "live" && !rows.length) return "There is no answer yet.";
  return about.loading ? "Loading samples ..." : "No sample matches these filters.";
}
function apply(wanted) {
  shown = sorted(rows.filter(matching()));
  byId("only").hidden = !only && !opening;
  byId("only").firstElementChild.textContent = only ? visible(only.said) : opening;
  counted();
  chosen = -1;
  list.scrollTop = 0;
  const at = wanted ? shown.indexOf(wanted) : shown.length ? 0 : -1;
  if (at >= 0) show(at, !wanted); else { paint(); detail.replaceChildren(make("p", { class: "soft" }, noSample())); }
}
function counted() {
  const every = Math.max(rows.length, about.samples || 0).toLocaleString("en");
  many("samples", Math.max(rows.length, about.samples || 0));
  byId("count").textContent = `${shown.length.toLocaleString("en")} of ${every}${about.loading ? ` (${rows.length.toLocaleString("en")} loaded)` : ""}`;
}
function clearFilters() {
  only = null;
  opening = "";
  for (const id of ["f-model", "f-task", "f-category", "f-beside", "f-result", "f-text"]) byId(id).value = "";
}
function showCategory(task, category) {
  clearFilters();
  byId("f-task").value = task;
  byId("f-category").value = category;
  apply();
  keepFilters(true);
  land(byId("samples"));
}
// The samples of a chart's cell, whose texts are in the address: #?cell=length,mme,characters,2,3
function setCell(text) {
  const [kind, ...of] = text.split(",").map(decodeURIComponent);
  if (Object.hasOwn(CELLS, kind)) only = { ...CELLS[kind](...of), cell: text };
}
function showCell(cell) {
  clearFilters();
  setCell(cell.map(encodeURIComponent).join(","));
  apply();
  keepFilters(true);
  land(byId("samples"));
}
function fromAddress() {
  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; /* a name with a bare % */ } };
  const parts = location.hash.slice(1).split("/");
  if (parts.length < 2) return null;
  const doc = parts.pop(), model = about.models?.length > 1 && parts.length > 1 ? about.models.indexOf(decoded(parts.shift())) : -1;
  const task = decoded(parts.join("/"));
  return rows.find((row) => row.t === task && String(row.d) === doc && (model < 0 || row.m === model)) || null;
}
// The filters in the address: #?task=mme&result=wrong
const FILTERS = { model: "f-model", task: "f-task", category: "f-category", beside: "f-beside", result: "f-result", text: "f-text", sort: "f-sort", view: "f-view" };
// Each click has an address of its own, so that the browser's Back undoes it; letters of a search have one together
function keepFilters(click) {
  const stated = Object.entries(FILTERS).map(([name, id]) => [name, byId(id).value]).filter(([, value]) => value);
  if (only?.cell) stated.push(["cell", only.cell]);
  history[click ? "pushState" : "replaceState"](null, "", stated.length ? `#?${new URLSearchParams(stated)}` : "#samples");
}
// The docs that a page of one run shows first, where its address asks for nothing: those that something is wrong with
function openOnFailures() {
  const counted = { failed: "failed", "not requested": "not_requested", "no verdict": "ungraded", unparsed: "unparsed" };
  const [failure] = Object.keys(counted).filter((name) => about.next ? (about.table || []).some((row) => row[counted[name]]) : rows.some((row) => state(row)[0] === name || row.s === name));
  if (about.kind !== "run" || (location.hash.length > 1 && !partOfAddress()) || !failure) return;
  offerFilters([{ t: about.tasks[0].name, c: "", s: failure }].filter(() => about.next));
  byId("f-result").value = failure;
  opening = `Documents with the result “${failure}” are listed first.`;
}
// What the address asks for: a part of the page, filters, or a sample. A sample that is not there (yet) is said to be missing
const asksForSample = () => location.hash.length > 1 && !location.hash.startsWith("#?") && !partOfAddress();
function jump() {
  const name = partOfAddress();
  if (name) { turnTo(name); return; }
  if (location.hash.startsWith("#?")) {
    clearFilters();
    for (const id of ["f-sort", "f-view"]) byId(id).value = "";
    for (const [name, value] of new URLSearchParams(location.hash.slice(2))) if (FILTERS[name]) byId(FILTERS[name]).value = value; else if (name === "cell") setCell(value);
    apply();
    land(byId("samples"));
    return;
  }
  if (!asksForSample()) return;
  const row = fromAddress();
  showPart("samples");
  if (row) { clearFilters(); apply(row); } else { chosen = -1; paint(); detail.replaceChildren(make("p", { class: "soft" }, about.loading ? "Loading samples ..." : `This page has no sample ${location.hash.slice(1)}.`)); }
  landOnSample();
}
// The sample beside the list; on a phone, where it stands below the list, the sample alone
function landOnSample() { land(narrow() ? detail : byId("samples")); }
// The filters' options, with those of rows that came since
const RESULTS = ["right", "wrong", "unparsed", "filtered", "refused", "truncated", "cut", "code", "restored", "failed", "not requested", "no verdict", "judges disagree", "unreadable", "flipped", "lost", "gained"];
const offered = { task: new Set(), category: new Set(), result: new Set() };
function offerFilters(of) {
  const before = Object.values(offered).map((names) => names.size);
  for (const row of of) {
    offered.task.add(row.t);
    for (const name of categoriesOf(row)) offered.category.add(name);
    for (const name of [state(row)[0], row.s, row.k && "cut", usesCode(row) && "code", row.rs && "restored", row.jd && "judges disagree", unreadable(row) && "unreadable", turnsOf(row)]) if (name) offered.result.add(name);
    if (flip(row)) for (const name of ["flipped", "lost", "gained"]) offered.result.add(name);
  }
  const names = { task: [...offered.task], category: [...offered.category].sort(), result: [...RESULTS.filter((name) => offered.result.has(name)), ...[...offered.result].filter((name) => name.startsWith("turns: ")).sort()] };
  Object.entries({ task: "all tasks", category: "all categories", result: "all results" }).forEach(([name, all], place) => {
    const select = byId(`f-${name}`), kept = select.value;
    if (select.length && offered[name].size === before[place]) return;
    select.replaceChildren(make("option", { value: "" }, all), ...names[name].map((one) => make("option", { value: one }, one)));
    select.value = kept;
  });
}
function samples() {
  offerFilters(rows);
  byId("f-model").append(make("option", { value: "" }, "all models"), ...(about.models || []).map((name, place) => make("option", { value: place }, name)));
  byId("f-model").parentElement.hidden = (about.models || []).length < 2;
  byId("only").lastElementChild.addEventListener("click", () => { if (opening) clearFilters(); only = null; apply(); keepFilters(true); });
  byId("f-beside").append(make("option", { value: "" }, "any run"), ...about.beside.map((name, place) => make("option", { value: place }, name)));
  byId("f-beside").parentElement.hidden = about.beside.length < 2;
  for (const kind of ["csv", "jsonl"]) byId(`to-${kind}`).addEventListener("click", () => download(kind));
  for (const id of ["f-model", "f-task", "f-category", "f-beside", "f-result", "f-sort", "f-view"]) byId(id).addEventListener("change", () => { opening = ""; apply(); keepFilters(true); });
  let timer = 0;
  byId("f-text").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { opening = ""; apply(); keepFilters(); }, 80); });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  list.addEventListener("scroll", paint, { passive: true });
  list.addEventListener("click", (event) => { const element = event.target.closest(".row"); if (!element) return; show(Number(element.dataset.index), false, true); if (narrow()) land(detail); });
  addEventListener("resize", paint);
  addEventListener("hashchange", jump);
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && typing) { list.focus({ preventScroll: true }); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const inList = document.activeElement === list;
    if ((event.key === "j" || event.key === "k") && currentPart !== "samples") turnTo("samples");
    if (event.key === "j" || (inList && event.key === "ArrowDown")) show(chosen + 1);
    else if (event.key === "k" || (inList && event.key === "ArrowUp")) show(chosen - 1);
    else if (event.key === "/") { if (currentPart !== "samples") turnTo("samples"); byId("f-text").focus(); }
    else return;
    event.preventDefault();
  });
  openOnFailures();
  apply();
}
about.loading = Boolean(about.next);
drawTop();
if (about.outside) byId("filters").after(make("p", { class: "hint", id: "outside" }, `${about.outside.toLocaleString("en")} pictures are not in this file: they are in media/ of ${about.where}. Keep the page there, or share what this writes: mm-eval report ${about.where} --site DIR`));
tabs();
samples();
if (location.hash.length > 1) jump();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
