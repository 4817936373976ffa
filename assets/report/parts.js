"use strict";
// Samples that come in parts. A part is a script beside the page that calls part(...) and names the next one; those of a run that
// goes on name a next one for ever.
let chartsOf = 0;
const places = new Map(); // of docs among the rows
const keyOf = (row) => `${row.t}\n${row.d}`;
function follow(address, wait) {
  setTimeout(() => {
    const script = make("script", { src: address });
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () => {
      script.remove();
      if (about.kind === "live") { says("The server does not answer. Is `mm-eval view` still running?"); follow(address, 5000); } else says(`Samples are missing: ${address} can't be loaded.`);
    });
    document.body.append(script);
  }, wait || 0);
}
function says(words) {
  const banner = byId("says") || make("div", { class: "banner", id: "says", role: "status" });
  banner.textContent = visible(words);
  if (!banner.isConnected) byId("top").append(banner);
}
// Takes rows in and returns the new ones; a row of a live run's doc that is there already takes its place
function placed(fresh) {
  return fresh.filter((row) => {
    const at = about.kind === "live" ? places.get(keyOf(row)) : undefined;
    if (at === undefined) { places.set(keyOf(row), rows.length); rows.push(row); return true; }
    const before = shown.indexOf(rows[at]);
    rows[at] = row;
    if (before >= 0) shown[before] = row;
    return false;
  });
}
function part(one) {
  Object.assign(kinds, one.kinds);
  const fresh = placed(one.rows);
  for (const row of fresh.filter(matching())) shown.push(row);
  about.loading = one.next !== null && about.kind !== "live";
  offerFilters(one.rows);
  if (!unsettled()) { if (chosen < 0 && shown.length && !awaited) show(0, true); else paint(); }
  counted();
  const whole = !about.loading;
  if (about.kind === "run" && (whole || rows.length >= 2 * chartsOf)) { charts(); chartsOf = rows.length; }
  if (about.kind === "live") drawProgress(one.progress);
  const ready = document.documentElement.dataset;
  ready.first ||= String(Math.round(performance.now()));
  if (one.next !== null) { follow(one.next, one.wait); return; }
  ready.complete = String(Math.round(performance.now()));
  if (only?.cell) { setCell(only.cell); apply(); } // what a cell holds is known when all samples are there
  if (byId("f-sort").value) apply(shown[chosen]);
  if (opening && !shown.length) { clearFilters(); apply(); }
}
// What the address asks for, where the samples before did not have it
let awaited = asksForSample();
function unsettled() {
  if (location.hash.startsWith("#?")) {
    const asked = [...new URLSearchParams(location.hash.slice(2))].filter(([name]) => FILTERS[name]);
    if (asked.every(([name, value]) => byId(FILTERS[name]).value === value)) return false;
  } else if (!awaited || !(fromAddress() || !about.loading)) return false;
  awaited = false;
  jump();
  return true;
}
follow(about.next);
