// The buttons above the graphs: compare two sides, twenty seeds, save, copy; and what became of it.

import { element } from "./plots.js";

const COPIED = 1500; // ms that a button says so

export class ActionRow {
  // `asked` has what each button does; `command` and `link` give the text to copy.
  constructor(box, seeds, asked) {
    this.comparing = button("compare", "", asked.compare);
    this.sides = element("span", { className: "sides", hidden: true });
    this.sides.append(...["A", "B"].map((side) => sideButton(side, asked.move)));
    this.told = element("span", { id: "said", role: "status" });
    box.append(
      this.comparing,
      this.sides,
      button("seeds", `${seeds} seeds`, asked.seeds),
      button("save", "Save as run", asked.save),
      button("copy-command", "Copy command", (made) => copy(made, asked.command())),
      button("copy-link", "Copy link", (made) => copy(made, asked.link())),
      ...(window.frameElement ? [] : [button("share", "Share the stage", asked.share)]),
      this.told,
    );
  }

  showSides(isCompared, moved) {
    this.comparing.textContent = isCompared ? "End comparison" : "What if\u2026";
    this.sides.hidden = !isCompared;
    for (const side of this.sides.children) {
      side.setAttribute("aria-pressed", String(side.id === `side-${moved}`));
    }
  }

  say(text) {
    this.told.textContent = text;
  }
}

function button(id, words, action) {
  const made = element("button", { type: "button", id, textContent: words });
  made.addEventListener("click", () => action(made));
  return made;
}

function sideButton(side, move) {
  return button(`side-${side}`, `Change ${side}`, () => move(side));
}

async function copy(button, text) {
  if (!text) return;
  const words = button.textContent;
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  window.setTimeout(() => (button.textContent = words), COPIED);
}
