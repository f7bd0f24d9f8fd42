"use strict";
// The two files of decisions: what was decided before, then what was filled in here.
{% include "labs/toml.js" %}
const decided = JSON.parse(document.getElementById("decided").textContent);
const page = (selector) => [...document.querySelectorAll(selector)];
const comment = (section) => section.querySelector("textarea").value;
const reader = document.getElementById("reader");
const by = () => (reader && reader.value.trim() ? { by: reader.value.trim() } : {});
{% include "labs/reading_keys.js" %}

const touched = () => page("section[data-question]").filter(isChanged);
const given = () => touched().flatMap((section) => {
  const { points, items } = stateOf(section);
  if (points === "") return [];
  const rubric = section.querySelector(".item[data-points]") ? { items } : {};
  return [{ student: section.dataset.student, question: section.dataset.question,
    points: Number(points), comment: comment(section), hand_in: section.dataset.handIn,
    ...rubric, ...by() }];
});
const isAbout = (section, line) => line.student === section.dataset.student
  && line.question === section.dataset.question
  && (!line.hand_in || line.hand_in === section.dataset.handIn);
const overrides = () => ["# Points by hand, read at each grading.\n",
  ...decided.override.filter((line) => !touched().some((section) => isAbout(section, line))),
  ...given()].map((line) => typeof line === "string" ? line : lines("override", line)).join("\n");

const decisions = (kind) => page("section[data-flags]")
  .filter((section) => section.querySelector(`input[value=${kind}]`).checked)
  .map((section) => ({ student: section.dataset.student, hand_in: section.dataset.handIn,
    ...(kind === "accept" ? { flags: JSON.parse(section.dataset.flags) } : {}),
    comment: comment(section), ...by() }));
const ticked = () => [...decisions("accept"), ...decisions("reject")];
const accepted = () => ["# Hand-ins that were looked at, read at each grading.\n",
  ...["accept", "reject"].flatMap((kind) =>
    [...decided[kind], ...decisions(kind)].map((line) => lines(kind, line)))].join("\n");

const button = (id, name, content, count, what) => {
  const element = document.getElementById(id);
  if (element) element.addEventListener("click", () => {
    saved(name, content());
    document.getElementById(`${id}-told`).textContent = `${count().length} ${what}.`;
  });
};
button("save-overrides", "overrides.toml", overrides, given, "answers have points");
button("save-accepted", "accepted.toml", accepted, ticked, "hand-ins decided");
