// The controls at the left: a slider with a text field for each quantity, the flows, and the rest.

import { inProducts, nearestPlace, packetsOf, parsed, placesOf, written } from "./values.js";
import { element } from "./plots.js";

const FIELDS = [
  { name: "bw", kind: "rate", low: 1e5, high: 1e9, label: "Rate", hint: "of the link, each way" },
  {
    name: "delay",
    kind: "time",
    low: 1e-4,
    high: 1,
    zero: true,
    label: "Delay",
    hint: "one way: a round trip takes twice as long",
  },
  {
    name: "loss",
    kind: "share",
    low: 0.001,
    high: 50,
    zero: true,
    label: "Loss",
    hint: "of packets, at random, each way",
  },
  {
    name: "jitter",
    kind: "time",
    low: 1e-5,
    high: 0.5,
    zero: true,
    label: "Jitter",
    hint: "of the delay; packets overtake each other",
  },
  {
    name: "queue",
    kind: "count",
    low: 1,
    high: 5000,
    label: "Queue",
    hint: "packets that can wait",
  },
];
const MORE = [
  { name: "duration", kind: "time", low: 1, high: 120, label: "Duration", hint: "of the traffic" },
  {
    name: "seed",
    kind: "count",
    low: 1,
    high: 100,
    linear: true,
    label: "Seed",
    hint: "of all chance",
  },
];
const MOST_FLOWS = 4;

export class Controls {
  // `moved(settings, isDragging)` is called for every change; `offered` has the names to choose.
  constructor(form, offered, moved) {
    Object.assign(this, { form, offered, moved });
    this.settings = null;
    this.problems = {};
    this.quantities = [...FIELDS, ...MORE].map((field) => this.quantity(field));
    const byName = Object.fromEntries(this.quantities.map((one) => [one.field.name, one.row]));
    form.append(
      group("The link", ...FIELDS.map(({ name }) => byName[name]), this.disciplines()),
      this.flowGroup(),
      this.changeGroup(),
      folded("Duration and seed", ...MORE.map(({ name }) => byName[name])),
    );
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  // Shows settings without a call of `moved`.
  show(settings) {
    this.settings = { ...settings };
    for (const quantity of this.quantities) quantity.show(this.settings[quantity.field.name]);
    this.discipline.value = settings.discipline;
    this.switches.forEach((box) => (box.checked = settings[box.name] === "on"));
    this.showFlows();
    this.showChange();
    this.showProducts();
  }

  set(name, value, isDragging = false) {
    this.settings = { ...this.settings, [name]: value };
    this.problem("", "");
    this.showProducts();
    this.moved(this.settings, isDragging);
  }

  // A sentence of the server beside the field that it names; "" takes all away.
  problem(field, sentence) {
    for (const place of Object.values(this.problems)) {
      place.textContent = place === this.problems[field] ? sentence : "";
    }
    this.form.querySelectorAll("[data-field]").forEach((input) => {
      if (input.dataset.field === field && sentence) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    });
    return Boolean(this.problems[field]);
  }

  quantity(field) {
    const id = `set-${field.name}`;
    const places = placesOf(field);
    const slider = element("input", { type: "range", id, min: 0, max: places.length - 1, step: 1 });
    const text = element("input", { type: "text", className: "exact", spellcheck: false });
    for (const input of [slider, text]) input.dataset.field = field.name;
    text.setAttribute("aria-label", `${field.label}, with its unit`);
    slider.setAttribute("aria-describedby", `${id}-hint`);
    const read = (isDragging) => {
      text.value = written(field.kind, places[slider.value]);
      slider.setAttribute("aria-valuetext", text.value);
      this.set(field.name, text.value, isDragging);
    };
    slider.addEventListener("input", () => read(true));
    slider.addEventListener("change", () => read(false));
    const show = (value) => {
      text.value = value;
      slider.value = nearestPlace(places, parsed(field.kind, value));
      slider.setAttribute("aria-valuetext", value);
    };
    text.addEventListener("change", () => {
      const value = text.value.trim();
      if (!Number.isNaN(parsed(field.kind, value))) show(value);
      this.set(field.name, value);
    });
    const head = element("div", { className: "head" });
    head.append(label(id, field.label), text);
    const row = element("div", { className: "quantity" });
    row.append(head, slider, element("p", { className: "hint", id: `${id}-hint` }));
    row.lastChild.textContent = field.hint;
    if (field.name === "queue") row.append(this.products());
    row.append(this.problemOf(field.name));
    return { field, row, show };
  }

  // The queue in bandwidth-delay products: a field of its own beside the packets.
  products() {
    const line = element("p", { className: "products" });
    this.bdp = element("input", { type: "text", className: "exact", id: "set-bdp" });
    this.bdp.setAttribute("aria-label", "Queue in bandwidth-delay products");
    this.bdp.addEventListener("change", () => {
      const packets = packetsOf(Number(this.bdp.value) || 0, this.settings);
      this.set("queue", String(packets));
      this.show(this.settings);
    });
    line.append("= ", this.bdp, " BDP");
    line.title = "Bandwidth-delay product: what fills the empty path, rate times round trip";
    return line;
  }

  showProducts() {
    const products = inProducts(this.settings);
    this.bdp.value = Number.isFinite(products) ? String(Number(products.toPrecision(3))) : "";
    this.bdp.disabled = !Number.isFinite(products);
  }

  disciplines() {
    this.discipline = element("select", { id: "set-discipline" });
    this.discipline.dataset.field = "discipline";
    for (const [value, textContent] of Object.entries(this.offered.disciplines)) {
      this.discipline.append(element("option", { value, textContent }));
    }
    this.discipline.addEventListener("change", () => this.set("discipline", this.discipline.value));
    const row = element("div", { className: "row" });
    const name = label("set-discipline", "Discipline");
    row.append(name, this.discipline, this.problemOf("discipline"));
    return row;
  }

  flowGroup() {
    this.flowRows = element("div", {});
    this.more = element("button", { type: "button", textContent: "Add a flow" });
    this.more.addEventListener("click", () => {
      this.setFlows([...this.flows(), { algorithm: "cubic", start: "2s" }]);
      this.flowRows.lastChild.querySelector("select").focus();
    });
    this.switches = ["sack", "ecn"].map((name) => {
      const box = element("input", { type: "checkbox", name, id: `set-${name}` });
      box.dataset.field = name;
      box.addEventListener("change", () => this.set(name, box.checked ? "on" : "off"));
      return box;
    });
    const line = element("div", { className: "switches" });
    this.switches.forEach((box) => {
      const whole = element("label", { htmlFor: box.id });
      whole.append(box, ` ${box.name.toUpperCase()}`);
      line.append(whole);
    });
    const problems = ["flows", "sack", "ecn"].map((name) => this.problemOf(name));
    return group("The flows", this.flowRows, this.more, line, ...problems);
  }

  flows() {
    return this.settings.flows.split("+").map((text) => {
      const [algorithm, start = "0s"] = text.split("@");
      return { algorithm, start };
    });
  }

  setFlows(flows) {
    const text = flows.map(({ algorithm, start }) =>
      parsed("time", start) === 0 ? algorithm : `${algorithm}@${start}`,
    );
    this.set("flows", text.join("+"));
    this.showFlows();
  }

  showFlows() {
    const flows = this.flows();
    this.flowRows.replaceChildren(...flows.map((flow, at) => this.flowRow(flows, flow, at)));
    this.more.hidden = flows.length >= MOST_FLOWS;
  }

  flowRow(flows, flow, at) {
    const row = element("div", { className: `flow series-${at}` });
    const choice = element("select", {});
    choice.setAttribute("aria-label", `Congestion control of flow ${at + 1}`);
    for (const name of new Set([...this.offered.algorithms, flow.algorithm])) {
      choice.append(element("option", { value: name, textContent: name }));
    }
    choice.value = flow.algorithm;
    const start = element("input", { type: "text", className: "exact", value: flow.start });
    start.setAttribute("aria-label", `Start of flow ${at + 1}`);
    const change = () => {
      const own = { algorithm: choice.value, start: start.value.trim() || "0s" };
      this.setFlows(flows.map((other, place) => (place === at ? own : other)));
      const again = this.flowRows.children[at].querySelectorAll("select, input");
      again[document.activeElement === start ? 1 : 0].focus();
    };
    choice.addEventListener("change", change);
    start.addEventListener("change", change);
    const away = element("button", { type: "button", textContent: "\u00d7", className: "away" });
    away.setAttribute("aria-label", `Take flow ${at + 1} away`);
    away.hidden = flows.length === 1;
    away.addEventListener("click", () => {
      this.setFlows(flows.filter((_, place) => place !== at));
      this.more.focus();
    });
    row.append(element("span", { className: "swatch" }), choice, " from ", start, away);
    return row;
  }

  // One change of the link: "5s bw=2mbit delay=100ms loss=1%".
  changeGroup() {
    this.changes = {};
    const parts = [
      ["at", "at", "5s"],
      ["bw", "rate", "2mbit"],
      ["delay", "delay", "100ms"],
      ["loss", "loss", "1%"],
    ];
    const rows = parts.map(([name, words, example]) => {
      const input = element("input", { type: "text", className: "exact", id: `change-${name}` });
      input.placeholder = example;
      input.dataset.field = "change";
      input.addEventListener("change", () => this.set("change", this.changeText()));
      this.changes[name] = input;
      const row = element("div", { className: "row" });
      row.append(label(input.id, words), input);
      return row;
    });
    const hint = element("p", { className: "hint" });
    hint.textContent = "What stays empty stays as it is. Write a moment and at least one value.";
    this.changeFold = folded("The link changes", ...rows, hint, this.problemOf("change"));
    this.changeFold.hidden = !("change" in this.offered.defaults);
    return this.changeFold;
  }

  changeText() {
    const { at, ...values } = this.changes;
    const set = Object.entries(values).filter(([, input]) => input.value.trim());
    if (!at.value.trim() || !set.length) return "";
    const changed = set.map(([name, input]) => `${name}=${input.value.trim()}`);
    return [at.value.trim(), ...changed].join(" ");
  }

  showChange() {
    const [at = "", ...values] = (this.settings.change || "").split(/\s+/);
    for (const input of Object.values(this.changes)) input.value = "";
    this.changes.at.value = at;
    for (const value of values) {
      const [name, text] = value.split("=");
      if (this.changes[name]) this.changes[name].value = text;
    }
    if (at) this.changeFold.open = true;
  }

  problemOf(name) {
    this.problems[name] = element("p", { className: "problem" });
    this.problems[name].setAttribute("role", "alert");
    return this.problems[name];
  }
}

function label(id, words) {
  return element("label", { htmlFor: id, textContent: words });
}

function group(title, ...rows) {
  const box = element("fieldset", {});
  box.append(element("legend", { textContent: title }), ...rows);
  return box;
}

function folded(title, ...rows) {
  const box = element("details", {});
  box.append(element("summary", { textContent: title }), ...rows);
  return box;
}
