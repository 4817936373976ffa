"use strict";
// The parts of a page. One is shown at a time; the bar with their names stays in view, and the page's address names the part or the
// samples in it. Where a link leads is shown at the top, below the bar: nothing above it can grow, since the other parts are hidden.
const PARTS = { results: about.kind === "compare" ? "Difference" : "Results", samples: "Samples", problems: "What went wrong", asked: "How it was asked" };
const SHORT = { problems: "Wrong", asked: "Asked" }; // on a phone
const leftAt = {}; // how far down each part was when it was left
let currentPart = "";
const partOfAddress = () => { const name = location.hash.slice(1); return name === "" && Boolean(byId("tab-results")) ? "results" : byId(`tab-${name}`) ? name : ""; };
const narrow = () => matchMedia("(max-width: 760px)").matches;
function tabs() {
  const filled = (name) => name === "samples" || [...byId(name).children].some((one) => !one.id || one.childElementCount);
  const there = Object.keys(PARTS).filter(filled);
  byId("bar-name").append(visible(about.model || about.title));
  byId("bar-name").title = visible(about.model || about.title);
  for (const name of there) {
    const tab = make("a", { id: `tab-${name}`, href: `#${name}`, title: PARTS[name] }, make("span", { class: SHORT[name] ? "on-wide" : "" }, PARTS[name]));
    if (SHORT[name]) tab.append(make("span", { class: "on-narrow" }, SHORT[name]));
    tab.append(make("small", { id: `many-${name}` }));
    tab.addEventListener("click", (event) => { if (event.ctrlKey || event.metaKey || event.shiftKey) return; event.preventDefault(); history.pushState(null, "", `#${name}`); turnTo(name); });
    byId("tabs").append(tab);
  }
  byId("bar").hidden = there.length < 2;
  document.documentElement.classList.toggle("barred", there.length > 1);
  history.scrollRestoration = "manual"; // the browser does not know what stands where
  showPart(there[0]);
  if (typeof findingCount === "number") many("problems", findingCount);
}
function showPart(name) {
  if (currentPart === name) return;
  leftAt[currentPart] = scrollY;
  currentPart = name;
  for (const one of Object.keys(PARTS)) {
    byId(one).hidden = one !== name;
    const tab = byId(`tab-${one}`);
    if (tab && one === name) tab.setAttribute("aria-current", "true"); else tab?.removeAttribute("aria-current");
  }
  if (name === "samples" && list.clientHeight) paint(); // a hidden list draws nothing
}
// A part as the reader left it, or its beginning; the top of the page stays where it is while it is in view
function turnTo(name) {
  const was = scrollY;
  if (name === currentPart) { if (was > byId("top").offsetHeight) land(byId(name)); return; }
  showPart(name);
  if (name === "samples") land(byId(name)); else scrollTo(0, leftAt[name] ?? Math.min(was, byId("top").offsetHeight));
}
// Shows an element of a part below the bar
function land(element) {
  showPart(element.closest("main > section").id);
  element.scrollIntoView({ block: "start" });
}
function many(name, count) { const at = byId(`many-${name}`); if (at) at.textContent = count ? ` ${count.toLocaleString("en")}` : ""; }
