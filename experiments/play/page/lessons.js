// A lesson beside the graphs: a text, a prediction, then the run and what it shows.

import { element } from "./plots.js";
import { drawable } from "./prediction.js";

// Texts of lessons are HTML that the server made of Markdown, without any HTML of their own.
export class Tour {
  // `run(step, before)` sets the sliders and plays; `left()` is called when a lesson is left,
  // `turned()` when a step is shown, and `predicted(value)` while a number is typed.
  constructor(box, { run, left, turned, predicted }) {
    Object.assign(this, { box, run, left, turned, predicted, lesson: null, at: 0, phase: "" });
  }

  begin(lesson, at = 0) {
    this.lesson = lesson;
    this.predictions = {};
    this.go(Math.min(at, lesson.steps.length - 1));
  }

  get isAsking() {
    return Boolean(this.lesson) && this.phase === "asking";
  }

  get step() {
    return this.lesson.steps[this.at];
  }

  go(at) {
    this.at = at;
    this.phase = this.step.ask ? "asking" : "running";
    this.turned();
    this.draw();
    this.box.scrollIntoView({ block: "nearest" });
    this.focus();
    if (!this.step.ask) this.play();
  }

  play() {
    this.phase = "running";
    this.draw();
    this.focus();
    this.run(this.step, this.lesson.steps[this.at - 1]);
  }

  // A prediction that was drawn.
  draws(value) {
    const input = this.box.querySelector("input[type=number]");
    if (input) input.value = value;
  }

  // A run of this step has come to its end.
  finished(measures) {
    if (!this.lesson || this.phase !== "running") return;
    this.phase = "shown";
    this.measures = measures;
    this.draw();
    this.focus();
  }

  // What had the focus is drawn again: keyboards go on from the heading.
  focus() {
    this.box.querySelector("h2").focus({ preventScroll: true });
  }

  stop() {
    this.lesson = null;
    this.box.hidden = true;
    this.left();
  }

  draw() {
    const { lesson, step, at } = this;
    this.box.hidden = false;
    const head = element("div", { className: "tour-head" });
    const place = `${lesson.title} \u00b7 ${at + 1} of ${lesson.steps.length}`;
    const away = element("button", { type: "button", textContent: "Leave the lesson" });
    away.addEventListener("click", () => this.stop());
    head.append(element("p", { className: "hint", textContent: place }), away);
    const parts = [head, element("h2", { textContent: step.title, tabIndex: -1 })];
    if (at === 0 && this.phase !== "shown") parts.push(text(lesson.intro));
    parts.push(text(step.before));
    if (step.ask) parts.push(this.question());
    if (this.phase === "running") parts.push(element("p", { textContent: "It runs\u2026" }));
    if (this.phase === "shown") parts.push(this.verdict(), text(step.after));
    parts.push(this.ways());
    this.box.replaceChildren(...parts);
  }

  question() {
    const form = element("form", { className: "question" });
    const field = element("fieldset", { disabled: this.phase !== "asking" });
    field.append(element("legend", { textContent: this.step.ask }));
    if (this.step.choices.length) field.append(...this.options());
    else field.append(this.typed());
    const go = element("button", { className: "main", textContent: "Run it" });
    if (this.phase === "asking") field.append(go);
    form.append(field);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.predictions[this.at] = new FormData(form).get("prediction");
      this.play();
    });
    return form;
  }

  options() {
    return this.step.choices.map((choice, place) => {
      const whole = element("label", { className: "option" });
      const radio = element("input", { type: "radio", name: "prediction", value: place });
      radio.required = true;
      radio.checked = this.predictions[this.at] === String(place);
      const isShown = this.phase === "shown";
      if (isShown && choice.right) whole.classList.add("right");
      const mark = isShown && choice.right ? " \u2713" : "";
      whole.append(radio, ` ${choice.text}${mark}`);
      return whole;
    });
  }

  typed() {
    const line = element("label", { className: "option" });
    const input = element("input", { type: "number", name: "prediction", step: "any" });
    Object.assign(input, { required: true, value: this.predictions[this.at] || "" });
    input.addEventListener("input", () => {
      if (input.value) this.predicted(Number(input.value));
    });
    const drawn = drawable(this.step) ? ", or draw it into the graph" : "";
    line.append("Your prediction: ", input, ` ${this.step.unit}${drawn}`);
    return line;
  }

  // Was the prediction right? Nothing is counted: it is for the student alone.
  verdict() {
    const { step } = this;
    const mine = this.predictions[this.at];
    const line = element("p", { className: "verdict" });
    if (step.choices.length && mine !== undefined) {
      const { right, because } = step.choices[Number(mine)];
      const wrong = `Not what you predicted. ${because || "Look why."}`;
      line.textContent = right ? "As you predicted." : wrong;
    } else if (step.answer && mine !== undefined) {
      const value = this.measures[step.answer];
      const was = Number(value.toPrecision(3));
      line.textContent = `You predicted ${mine} ${step.unit}; it was ${was}.`;
    }
    return line;
  }

  ways() {
    const row = element("div", { className: "ways" });
    const way = (words, at, className = "") => {
      const button = element("button", { type: "button", textContent: words, className });
      button.addEventListener("click", () => this.go(at));
      row.append(button);
    };
    if (this.at > 0) way("Back", this.at - 1);
    const isLast = this.at === this.lesson.steps.length - 1;
    if (this.phase === "shown" && !isLast) way("Next", this.at + 1, "main");
    if (this.phase === "shown" && isLast) {
      const words = "That was the lesson. The sliders are yours now: what else would you try?";
      row.append(element("p", { textContent: words }));
    }
    return row;
  }
}

function text(html) {
  return element("div", { className: "text", innerHTML: html });
}
