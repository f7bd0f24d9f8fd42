// What a screen reader and keys lack in the theme: names of landmarks, focus of what scrolls, and
// corners of tables that are no headings. The theme adds buttons and frames of tables later.

function name(element, label) {
  if (element.getAttribute("aria-label") === label) return;
  element.removeAttribute("aria-labelledby");
  element.setAttribute("aria-label", label);
}

function complete() {
  for (const [at, list] of document.querySelectorAll("nav.md-nav[data-md-level]").entries()) {
    const title = list.querySelector(":scope > .md-nav__title");
    name(list, `${title ? title.textContent.trim() : "Pages"}, list ${at + 1}`);
  }
  for (const [at, buttons] of document.querySelectorAll("nav.md-code__nav").entries()) {
    name(buttons, `Buttons of example ${at + 1}`);
  }
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, pre > code")) {
    wide.tabIndex = 0;
  }
  for (const corner of document.querySelectorAll("th:empty")) {
    corner.replaceWith(document.createElement("td"));
  }
}

complete();
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
