"use strict";
// The top of the page of a run in progress: how far it is, how fast, and what failed
const facts = make("dl", { class: "facts" }), bar = make("progress", { max: 1, value: 0, "aria-label": "answers so far" });
function drawTop() {
  byId("top").append(make("h1", {}, about.model), make("div", { id: "state", class: "soft" }), bar, facts);
  drawState("the run is in progress");
  if (about.sample) byId("top").append(sampleBanner());
}
function drawState(said) {
  byId("state").textContent = `${about.tasks.map((task) => task.name).join(", ")}: ${said}`;
}
const clock = (seconds) => seconds < 60 ? `${Math.round(seconds)} s` : seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
function drawProgress(now) {
  const count = (value) => value.toLocaleString("en"), fact = (name, value) => facts.append(make("dt", {}, name), make("dd", {}, value));
  bar.value = now.total ? now.docs / now.total : 0;
  facts.replaceChildren();
  fact("docs", `${count(now.docs)} of ${count(now.total)} have an answer (${percent(now.total ? now.docs / now.total : 0)})`);
  fact("rate", now.rate ? `${now.rate.toFixed(now.rate < 10 ? 2 : 0)} documents per second over the last minute${now.left ? `, about ${clock(now.left)} left` : ""}` : "no answer in the last minute");
  fact("failed", count(now.failed));
  if (now.verdicts) fact("verdicts of judges", count(now.verdicts));
  for (const task of now.tasks) fact(task.name, `${count(task.docs)} of ${count(task.total)}${task.failed ? `, ${count(task.failed)} failed` : ""}`);
  drawState(now.done ? "the run has stopped" : "the run is in progress");
  byId("says")?.remove();
  for (const said of [now.problem, now.done]) if (said) says(said);
}
