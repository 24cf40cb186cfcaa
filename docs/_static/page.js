// What is wider than the page scrolls by arrow keys too: it can be reached with the Tab key.
"use strict";

const NAMES = { PRE: "code", DIV: "table" };

function reach() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .math.scrolls")) {
    if (box.scrollWidth > box.clientWidth + 1) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", `${box.matches(".math") ? "formula" : NAMES[box.tagName]}, wider than the page`);
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  }
}

addEventListener("load", reach);
addEventListener("resize", reach);
