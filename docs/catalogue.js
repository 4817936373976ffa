"use strict";
// The catalogue of tasks has a field that leaves the rows with all words of what is typed: a name, a skill, a language, a licence
function catalogue() {
  const content = document.querySelector(".md-content__inner"), begin = document.getElementById("groups");
  if (!begin || !/\/tasks\/?(index.html|tasks.html)?$/.test(location.pathname) || document.getElementById("find-task")) return;
  content.classList.add("catalogue");
  const field = document.createElement("input"), count = document.createElement("p");
  field.id = "find-task";
  field.type = "search";
  field.placeholder = "Find a task: name, tag, language, data set, licence";
  field.setAttribute("aria-label", "Find a task");
  begin.before(field, count);
  const sections = [...content.querySelectorAll("h2")].map((head) => {
    const rows = [];
    for (let next = head.nextElementSibling; next && next.tagName !== "H2"; next = next.nextElementSibling) rows.push(...next.querySelectorAll("tbody tr"));
    return { head, rows, box: rows[0]?.closest(".md-typeset__scrollwrap, table") };
  });
  const find = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { head, rows, box } of sections) {
      const having = rows.filter((row) => { row.hidden = !words.every((word) => `${head.textContent} ${row.textContent}`.toLowerCase().includes(word)); return !row.hidden; });
      shown += having.length;
      if (rows.length) { head.hidden = !having.length; if (box) box.hidden = !having.length; }
    }
    count.textContent = words.length ? `${shown} found` : "";
    history.replaceState(null, "", words.length ? `#?find=${encodeURIComponent(field.value)}` : location.pathname + location.search);
  };
  field.addEventListener("input", find);
  const asked = /^#\?find=(.*)$/.exec(location.hash);
  if (asked) { field.value = decodeURIComponent(asked[1]); find(); }
}
if (document.readyState === "loading") addEventListener("DOMContentLoaded", catalogue); else catalogue();
