"use strict";
// Lines for overrides.toml: what was decided before, then what was filled in here.
const text = (value) => JSON.stringify(String(value));
const lines = (kind, one) => [`[[${kind}]]`, ...Object.entries(one).map(([name, value]) =>
  `${name} = ${typeof value === "number" ? value : text(value)}`), ""].join("\n");
const filled = () => [...document.querySelectorAll("section[data-student]")].flatMap((section) => {
  const points = section.querySelector("input").value;
  if (points === "") return [];
  return [{ student: section.dataset.student, question: section.dataset.question, points: Number(points),
    comment: section.querySelector("textarea").value }];
});
const whole = () => {
  const decided = JSON.parse(document.getElementById("decided").textContent);
  const fresh = filled();
  const again = (one) => fresh.some((other) => other.student === one.student && other.question === one.question);
  const kept = decided.override.filter((one) => !again(one));
  return ["# Points by hand, read at each grading.\n", ...[...kept, ...fresh].map((one) => lines("override", one)),
    ...decided.accept.map((one) => lines("accept", one))].join("\n");
};
const save = document.getElementById("save");
if (save) save.addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([whole()], { type: "application/toml" }));
  link.download = "overrides.toml";
  link.click();
  document.getElementById("said").textContent = `${filled().length} answers read.`;
});
