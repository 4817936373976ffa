"use strict";
// Draws the page from the JSON in it. Texts become text nodes only: nothing that a model said is ever read as HTML.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const about = read("data"), rows = read("rows");
// The address of a thumbnail: in the page or beside it. Pages whose samples come in parts know where pictures are in full size
let pictures = null;
const kinds = {};
const stored = (folder, digest, ending) => `${folder}${encodeURIComponent(digest.slice(0, 2))}/${encodeURIComponent(digest)}${ending}`;
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
function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = visible(text);
  return element;
}
const number = (value, scale) => typeof value !== "number" ? "–" : Math.abs(scale ?? value) >= 2 ? value.toFixed(2) : value.toFixed(4);
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const logLikelihood = (value) => value === "-inf" ? -Infinity : Number(value);
