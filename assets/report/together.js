"use strict";
// A page on several runs that `mm-eval view` serves: it asks whether there is something new, and shows it
function ask() {
  setTimeout(() => {
    if (document.hidden) { ask(); return; }
    const script = make("script", { src: `${about.live.address}?state=${encodeURIComponent(about.live.state)}` });
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () => { script.remove(); ask(); });
    document.body.append(script);
  }, about.live.wait);
}
function same() { ask(); }
function reload() { location.reload(); }
function again(fresh) {
  Object.assign(about, fresh);
  for (const id of ["top", "overview", "asked"]) byId(id).replaceChildren();
  drawTop();
  ask();
}
if (!rows.length && !about.next) { byId("tab-samples")?.remove(); byId("bar").hidden = byId("tabs").childElementCount < 2; }
if (about.live) ask();
