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
