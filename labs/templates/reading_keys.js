// Sections that are filled in by keys and clicks; the browser keeps them until they are graded.
const place = `tcplab reading ${location.pathname}`;
const sections = page("section[data-student]");
const answers = page("section.answer");
const key = ({ dataset }) => [dataset.student, dataset.handIn, dataset.question || ""].join("\n");

const stateOf = (section) => ({
  points: section.querySelector("input.points")?.value ?? "",
  comment: comment(section),
  items: [...section.querySelectorAll(".item[aria-pressed=true]")].map((item) => Number(item.value)),
  decision: section.querySelector("input[type=radio]:checked")?.value ?? "",
});
const setState = (section, state) => {
  const points = section.querySelector("input.points");
  if (points) points.value = state.points;
  section.querySelector("textarea").value = state.comment;
  for (const item of section.querySelectorAll(".item[data-points]"))
    item.setAttribute("aria-pressed", state.items.includes(Number(item.value)));
  for (const radio of section.querySelectorAll("input[type=radio]"))
    radio.checked = radio.value === state.decision;
};
const text = (section) => JSON.stringify(stateOf(section));
const initial = new Map(sections.map((section) => [section, text(section)]));
const isChanged = (section) => text(section) !== initial.get(section);
const isRead = (section) => section.querySelector("input.points").value !== "";

// What was filled in, the comments that can be used again, and the reader, as they are kept.
const kept = { drafts: {}, comments: {}, reader: "", anonymous: true };
try { Object.assign(kept, JSON.parse(localStorage.getItem(place) || "{}")); } catch { /* none */ }
const keep = () => {
  const changed = sections.filter(isChanged);
  kept.drafts = Object.fromEntries(changed.map((section) => [key(section), stateOf(section)]));
  try {
    localStorage.setItem(place, JSON.stringify(kept));
  } catch {
    document.getElementById("progress").textContent = "This browser keeps nothing: save often. ";
  }
};

const known = (question) => (kept.comments[question] ??= []);
const learn = (question, written) => {
  const comments = known(question);
  let fresh = written;
  for (const each of comments) fresh = fresh.replace(each, "");
  if (fresh.trim() && !comments.includes(fresh.trim())) comments.push(fresh.trim());
};
for (const list of page("script.mistakes"))
  JSON.parse(list.textContent).forEach((mistake) => learn(list.dataset.question, mistake));
decided.override.forEach((line) => learn(line.question, line.comment));

let current = null;
const list = document.getElementById("comments");
const showComments = () => {
  if (!current) return;
  list.replaceChildren(...known(current.dataset.question).map((each, index) => {
    const item = document.createElement("button");
    item.type = "button";
    item.className = "item";
    const label = document.createElement("kbd");
    label.textContent = index < 9 ? `Shift+${index + 1}` : "";
    item.append(label, ` ${each}`);
    item.addEventListener("click", () => insert(index));
    return item;
  }));
  list.hidden = false;
  current.append(list);
};
const refresh = () => {
  keep();
  const mine = answers.filter((each) => each.dataset.question === current?.dataset.question);
  const said = (which) => `${which.filter(isRead).length} of ${which.length}`;
  const progress = document.getElementById("progress");
  if (progress && answers.length)
    progress.textContent = `${said(answers)} read${current ? `, ${said(mine)} of this question` : ""} `;
  showComments();
};

const past = [];
const change = (section, make) => {
  const before = stateOf(section);
  make();
  if (JSON.stringify(before) !== text(section)) past.push([section, before]);
  refresh();
};
const addUp = (section) => {
  const items = [...section.querySelectorAll(".item[aria-pressed=true][data-points]")];
  const sum = items.reduce((points, item) => points + Number(item.dataset.points), 0);
  section.querySelector("input.points").value = Math.round(sum * 100) / 100;
};
const give = (section, chosen) => change(section, () => {
  for (const item of section.querySelectorAll(".item[data-points]"))
    item.setAttribute("aria-pressed", chosen(item));
  addUp(section);
});
const isPressed = (item) => item.getAttribute("aria-pressed") === "true";
const toggle = (section, number) =>
  give(section, (item) => isPressed(item) !== (Number(item.value) === number));
const insert = (index) => {
  const [section, words] = [current, known(current.dataset.question)[index]];
  if (words) change(section, () => {
    const area = section.querySelector("textarea");
    const has = area.value.includes(words);
    area.value = (has ? area.value.replace(words, "") : `${area.value.trim()} ${words}`).trim();
  });
};
const undo = () => {
  const [section, before] = past.pop() ?? [];
  if (!section) return;
  setState(section, before);
  goTo(section);
};

const select = (section) => {
  current?.classList.remove("current");
  current = section;
  current.classList.add("current");
  refresh();
};
const goTo = (section) => {
  if (!section?.classList.contains("answer")) return refresh();
  select(section);
  current.focus({ preventScroll: true });
  return current.scrollIntoView({ block: "start" });
};
const step = (by) => goTo(answers[Math.min(answers.length - 1,
  Math.max(0, answers.indexOf(current) + by))]);
const nextUnread = () => {
  const at = answers.indexOf(current) + 1;
  const after = [...answers.slice(at), ...answers.slice(0, at)];
  goTo(after.find((section) => !isRead(section)) ?? current);
};
const showNames = (anonymous) => {
  kept.anonymous = anonymous;
  document.getElementById("anonymous").checked = anonymous;
  document.body.classList.toggle("anonymous", anonymous);
  keep();
};

const commands = {
  a: () => give(current, () => true), 0: () => give(current, () => false),
  c: () => current.querySelector("textarea").focus(),
  p: () => current.querySelector("input.points").select(),
  j: () => step(1), ArrowRight: () => step(1), k: () => step(-1), ArrowLeft: () => step(-1),
  Enter: nextUnread, u: undo, h: () => showNames(!kept.anonymous),
};
const isTyping = (target) => target.matches("textarea, input:not([type=radio], [type=checkbox])");
document.addEventListener("keydown", (event) => {
  const { target, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (!current || ctrlKey || metaKey || altKey) return;
  if (isTyping(target)) {
    if (event.key === "Escape" || (event.key === "Enter" && target.matches(".points")))
      current.focus({ preventScroll: true });
    return;
  }
  if (event.key === "Enter" && target.matches("button, summary, a, input")) return;
  const digit = Number(/^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1] ?? 0);
  const command = digit
    ? () => (shiftKey ? insert(digit - 1) : toggle(current, digit))
    : commands[event.key];
  if (command) {
    event.preventDefault();
    command();
  }
});

for (const section of sections) {
  let before = null;
  section.addEventListener("focusin", () => {
    before = stateOf(section);
    if (section !== current && answers.includes(section)) select(section);
  });
  section.addEventListener("input", keep);
  section.addEventListener("change", (event) => {
    if (before) past.push([section, before]);
    before = stateOf(section);
    if (event.target.matches("textarea")) learn(section.dataset.question, comment(section));
    refresh();
  });
  for (const item of section.querySelectorAll(".item"))
    item.addEventListener("click", (event) => {
      toggle(section, Number(item.value));
      if (event.detail) section.focus({ preventScroll: true }); // so that Enter goes on
    });
  const draft = kept.drafts[key(section)];
  if (draft) setState(section, draft);
}
if (reader) {
  reader.value = kept.reader;
  reader.addEventListener("input", () => { kept.reader = reader.value; keep(); });
  const box = document.getElementById("anonymous");
  box.addEventListener("change", () => showNames(box.checked));
  showNames(kept.anonymous);
}
if (answers.length) nextUnread(); else refresh();
