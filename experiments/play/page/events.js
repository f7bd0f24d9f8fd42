// The list of a run's events, and a sentence on the one that was chosen.

import { element } from "./plots.js";
import { moment } from "./words.js";

const MOST_LISTED = 200;

const at = (id) => document.getElementById(id);

export class EventList {
  // `go` shows a moment in the graphs.
  constructor(go) {
    this.go = go;
    this.shown = "";
  }

  show(run) {
    const box = at("events");
    box.hidden = !run.events.length;
    const shown = `${run.number}.${run.events.length}`;
    if (this.shown === shown) return;
    this.shown = shown;
    at("explained").textContent = "";
    const sorted = [...run.events].sort((one, other) => one.time - other.time);
    const items = sorted.slice(0, MOST_LISTED).map((event) => this.item(event));
    const rest = sorted.length - items.length;
    if (rest > 0) items.push(element("li", { textContent: `and ${rest} more: see the graph` }));
    at("event-list").replaceChildren(...items);
  }

  item(event) {
    const item = element("li", {});
    const button = element("button", { type: "button" });
    button.append(
      element("span", { className: `swatch series-${event.flow}` }),
      element("b", { textContent: moment(event.time) }),
      ` ${event.event.replaceAll("_", " ")}`,
    );
    button.addEventListener("click", () => {
      this.explain(event);
      this.go(event.time);
    });
    item.append(button);
    return item;
  }

  explain(event) {
    const place = `${moment(event.time)}, flow ${event.flow + 1}`;
    at("explained").textContent = `${place}: ${event.sentence}`;
  }
}
