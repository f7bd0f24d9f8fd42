"use strict";
// The two files of decisions: what was decided before, then what was filled in here.
{% include "labs/toml.js" %}
const decided = JSON.parse(document.getElementById("decided").textContent);
const page = (selector) => [...document.querySelectorAll(selector)];
const comment = (section) => section.querySelector("textarea").value;

const given = () => page("section[data-question]").flatMap((section) => {
  const points = section.querySelector("input").value;
  if (points === "") return [];
  return [{ student: section.dataset.student, question: section.dataset.question,
    points: Number(points), comment: comment(section), hand_in: section.dataset.handIn }];
});
const sameAnswer = (line, other) => line.student === other.student && line.question === other.question
  && (!line.hand_in || line.hand_in === other.hand_in);
const overrides = () => ["# Points by hand, read at each grading.\n",
  ...decided.override.filter((line) => !given().some((fresh) => sameAnswer(line, fresh))),
  ...given()].map((line) => typeof line === "string" ? line : lines("override", line)).join("\n");

const decisions = (kind) => page("section[data-flags]")
  .filter((section) => section.querySelector(`input[value=${kind}]`).checked)
  .map((section) => ({ student: section.dataset.student, hand_in: section.dataset.handIn,
    ...(kind === "accept" ? { flags: JSON.parse(section.dataset.flags) } : {}), comment: comment(section) }));
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
