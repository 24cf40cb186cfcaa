// What is wider than the page scrolls by arrow keys too: it can be reached with the Tab key.
"use strict";

const BESIDE = { ".sidebar-drawer": "All pages", ".toc-drawer": "On this page" };
const WIDE = { pre: "code", ".table-wrapper": "table", ".math.scrolls": "formula" };

function reach() {
  for (const [kind, name] of Object.entries(WIDE)) {
    for (const box of document.querySelectorAll(kind)) {
      if (box.scrollWidth > box.clientWidth + 1) {
        box.tabIndex = 0;
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", `${name}, wider than the page`);
      } else {
        for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
      }
    }
  }
}

// Without a font for formulas, some browsers leave subscripts on the line.
function hasMathFont() {
  const probe = document.createElement("div");
  probe.innerHTML = "<math><msub><mi>x</mi><mi>x</mi></msub></math>";
  document.body.append(probe);
  const [base, below] = [...probe.querySelectorAll("mi")].map((letter) => letter.getBoundingClientRect().bottom);
  probe.remove();
  return below > base;
}

addEventListener("load", () => {
  document.documentElement.classList.toggle("no-math-font", !hasMathFont());
  for (const [kind, name] of Object.entries(BESIDE)) document.querySelector(kind)?.setAttribute("aria-label", name);
  reach();
});
addEventListener("resize", reach);
