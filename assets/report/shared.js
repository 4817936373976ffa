"use strict";
// Draws the page from the JSON in it. Texts become text nodes only: nothing that a model said is ever read as HTML.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const about = read("data"), rows = read("rows");
// The address of a thumbnail: in the page or beside it. Pages whose samples come in parts know where pictures are in full size
let pictures = null;
const kinds = {};
const nameOf = (digest) => digest.replace(/^file:/, "");  // the mark of a picture that was sent as it is stored
const stored = (folder, digest, ending) => `${folder}${encodeURIComponent(nameOf(digest).slice(0, 2))}/${encodeURIComponent(nameOf(digest))}${ending}`;
const picture = (digest) => about.pictures ? stored(about.pictures.thumbnails, digest, ".jpg") : (pictures ||= read("media"))[digest];
const fullSize = (digest) => !about.pictures || (about.pictures.listed && !kinds[digest]) ? null : stored(about.pictures.full, digest, kinds[digest] ? `.${kinds[digest]}` : "");
const byId = (id) => document.getElementById(id);

// A text as it is shown: characters that control or reorder others are written out, so that no line reads as it does not stand
const visible = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) element.setAttribute(name, name === "title" || name === "alt" || name === "aria-label" ? visible(value) : value);
  element.append(...children.filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : visible(child)));
  return element;
}
// A sentence of ours as nodes: what stands in backticks is code
const inCode = (said) => String(said).split(/`([^`]+)`/).map((part, place) => place % 2 ? make("code", {}, part) : part);
function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = visible(text);
  return element;
}
const number = (value, scale) => typeof value !== "number" ? "–" : Math.abs(scale ?? value) >= 2 ? value.toFixed(2) : value.toFixed(4);
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const logLikelihood = (value) => value === "-inf" ? -Infinity : Number(value);
// Shares are printed in percent, as papers do (61.3); points keep their own digits. Which a number is stands in the page's data
const inPercent = (value) => typeof value === "number" ? (100 * value).toFixed(1) : "–";
const shownAs = (value, share, scale) => share ? inPercent(value) : number(value, scale);
// A value on a line from low to high with its 95% interval, as a dot or as a bar from `zero`. The page's own layout draws it: it is as
// wide as its place, and what it is made of is as large in each place
function track(one, low, high, { bar, zero, colour } = {}) {
  const at = (value) => 100 * (Math.min(high, Math.max(low, value)) - low) / (high - low || 1), line = make("span", { class: "track", "aria-hidden": "true" });
  const put = (kind, from, to) => { const mark = make("i", { class: kind }); mark.style.left = `${from.toFixed(2)}%`; if (to !== undefined) mark.style.width = `${(to - from).toFixed(2)}%`; line.append(mark); return mark; };
  if (zero !== undefined && !bar) put("zero", at(zero));
  if (typeof one.value !== "number") return line;
  const ends = bar ? [at(zero ?? 0), at(one.value)].sort((a, b) => a - b) : [];
  const mark = bar ? put("bar", ...ends) : null;
  if (one.interval) put(`whisker${one.interval[0] < low ? " before" : ""}${one.interval[1] > high ? " beyond" : ""}`, ...one.interval.map(at)); // without an end where it goes on
  const dot = bar ? mark : put("dot", at(one.value));
  if (colour) dot.style.background = colour;
  return line;
}
// A name that may break after each underscore and before a bracket
const breaking = (name) => String(name).split(/(?<=[_/:])/).flatMap((part) => [make("wbr", {}), part]);
// Round ticks from low to high: steps of 1, 2 or 5 times a power of ten
function ticks(low, high, most = 5) {
  const rough = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough * .999);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step * 1e-9 ? 0 : Number(value.toPrecision(12)));
  return found;
}
function axisOf(low, high, share) {
  const axis = make("span", { class: "axis" });
  for (const value of ticks(low, high)) { const tick = make("small", { class: "soft" }, share ? `${Number((100 * value).toFixed(1))}` : number(value, high).replace(/\.0+$/, "")); tick.style.left = `${100 * (value - low) / (high - low || 1)}%`; axis.append(tick); }
  return axis;
}
// Round ticks of a logarithmic axis between two powers of ten
function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power += 1) for (const times of high - low > 3 ? [1] : [1, 2, 5]) { const value = Math.log10(times) + power; if (value >= low && value <= high) found.push(value); }
  return found.length ? found : [low, high];
}
// Sample data is no benchmark: said in one line
function sampleBanner(names = []) {
  const most = names.length === 4 ? 4 : 3, more = names.length - most;
  const shown = names.slice(0, most), last = more > 0 ? `${more} more` : shown.length > 1 ? shown.pop() : "";
  return make("div", { class: "banner" }, `Bundled sample data${names.length ? `, not ${shown.join(", ")}${last ? ` and ${last}` : ""}` : ""}. These scores are not benchmark results.`);
}
// Of models in their order, the same on every page and in every figure
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a00", "#8b4fbf", "#a0522d", "#e0457b", "#5fb800", "#7f8fa6"];
// The way back to the page that a page belongs to
const wayBack = () => about.back ? make("p", { class: "back" }, make("a", { href: about.back }, "← Release")) : null;
const inWords = (count) => count < 1e6 ? count.toLocaleString("en") : count < 1e9 ? `${(count / 1e6).toPrecision(3)} million` : `${(count / 1e9).toPrecision(3)} billion`;
// A button that shows the lines of a table that are no headline
function moreNumbers(body, hidden) {
  const button = make("button", { type: "button" }, `Show ${hidden} more number${hidden === 1 ? "" : "s"}`);
  button.addEventListener("click", () => { for (const line of body.querySelectorAll("tr.part")) line.hidden = false; button.remove(); });
  return button;
}
