(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, className, parent) {
    const made = document.createElement(name);
    made.className = className;
    parent.append(made);
    return made;
  }

  // "start end low high": where an axis begins and ends in the picture, and its numbers there.
  function axis(words) {
    const [start, end, low, high] = words.split(" ").map(Number);
    return (value) => start + ((value - low) / (high - low)) * (end - start);
  }

  // The numbers come from the chart's own table, so that both always say the same.
  function readPoints(figure, svg) {
    const [xAxis, yAxis] = [axis(svg.dataset.x), axis(svg.dataset.y)];
    const groups = [...svg.querySelectorAll(".series")];
    const names = [...figure.querySelectorAll("thead th[data-series]")].map((th) => th.textContent);
    const points = [];
    for (const row of figure.querySelectorAll("tbody tr[data-x]")) {
      [...row.querySelectorAll("td")].forEach((cell, series) => {
        const y = parseFloat(cell.textContent);
        if (Number.isNaN(y)) return;
        const x = Number(row.dataset.x) + Number(groups[series].dataset.aside);
        points.push({
          series, x: xAxis(x), y: yAxis(y), name: names[series],
          at: row.querySelector("th").textContent, value: cell.textContent,
        });
      });
    }
    return { points, groups };
  }

  function enliven(figure) {
    const plot = figure.querySelector(".plot");
    const svg = plot.querySelector("svg");
    const { points, groups } = readPoints(figure, svg);
    const [xLabel, yLabel] = svg.dataset.labels.split("|");
    const tip = element("div", "tip", plot);
    tip.setAttribute("role", "status");
    const cursor = document.createElementNS(SVG, "circle");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("r", "5");
    let shown = null;

    const visible = () => points.filter((point) => !groups[point.series].hasAttribute("hidden"));

    function hide() {
      shown = null;
      cursor.remove();
      tip.replaceChildren();
    }

    function show(point) {
      shown = point;
      cursor.setAttribute("cx", point.x);
      cursor.setAttribute("cy", point.y);
      svg.append(cursor);
      tip.replaceChildren();
      element("strong", "", tip).textContent = point.name;
      element("span", "", tip).textContent =
        `${xLabel}: ${point.at}, ${yLabel}: ${point.value.replace(" [", ", 95% interval [")}`;
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const room = plot.clientWidth - tip.offsetWidth;
      const left = point.x * scale + 12;
      tip.style.left = `${Math.max(0, left > room ? left - tip.offsetWidth - 24 : left)}px`;
      tip.style.top = `${Math.max(0, point.y * scale - tip.offsetHeight - 8)}px`;
    }

    function nearest(event) {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      let best = null;
      let least = Infinity;
      for (const point of visible()) {
        const far = (point.x - x) ** 2 + (point.y - y) ** 2;
        if (far < least) [best, least] = [point, far];
      }
      return best;
    }

    function follow(event) {
      const point = nearest(event);
      if (point && point !== shown) show(point);
    }

    // Left and right along a series; up and down to the next one, at the same place.
    function neighbour(key) {
      const from = shown ?? visible()[0];
      const own = visible().filter((point) => point.series === from.series);
      const index = own.indexOf(from);
      if (shown === null || key === "Home") return own[0];
      if (key === "End") return own[own.length - 1];
      if (key === "ArrowLeft") return own[Math.max(0, index - 1)];
      if (key === "ArrowRight") return own[Math.min(own.length - 1, index + 1)];
      const there = visible().filter((point) => point.at === from.at);
      const step = key === "ArrowDown" ? 1 : there.length - 1;
      return there[(there.indexOf(from) + step) % there.length];
    }

    function press(event) {
      if (event.key === "Escape") return hide();
      if (!/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key) || !visible().length) return;
      event.preventDefault();
      show(neighbour(event.key));
    }

    function toggle(button, group) {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      group.toggleAttribute("hidden", !on);
      hide();
    }

    for (const entry of figure.querySelectorAll(".legend li")) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(...entry.childNodes);
      entry.append(button);
      button.addEventListener("click", () => toggle(button, groups[entry.dataset.series]));
    }
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${svg.querySelector("title").textContent}: arrow keys read values`);
    // The title is for screen readers; as a browser's own tooltip it would cover ours.
    svg.setAttribute("aria-label", svg.querySelector("title").textContent);
    svg.setAttribute("aria-describedby", svg.querySelector("desc").id);
    svg.removeAttribute("aria-labelledby");
    svg.querySelector("title").remove();
    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("keydown", press);
    plot.addEventListener("blur", hide);
  }

  // The address …#selftest makes the page try itself, for a browser that nobody watches.
  function tryChart(figure) {
    const plot = figure.querySelector(".plot");
    const tip = plot.querySelector(".tip");
    const marks = () => plot.querySelectorAll(".cursor").length;
    const box = plot.getBoundingClientRect();
    const middle = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    plot.dispatchEvent(new PointerEvent("pointermove", { ...middle, bubbles: true }));
    const hovered = tip.textContent;
    plot.dispatchEvent(new PointerEvent("pointerleave"));
    const left = tip.textContent === "" && marks() === 0;
    const press = (key) => {
      plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      return tip.textContent;
    };
    const [first, last] = [press("Home"), press("End")];
    press("Escape");
    const [button, group] = [figure.querySelector(".legend button"), figure.querySelector(".series")];
    button.click();
    const hidden = getComputedStyle(group).display === "none";
    button.click();
    const back = getComputedStyle(group).display !== "none";
    const works = Boolean(hovered && left && first && last && hidden && back);
    return { id: figure.id, works, hovered, first, last };
  }

  const charts = [...document.querySelectorAll("figure.chart")];
  charts.forEach(enliven);
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      details.dataset.printing = "";
    }
  });
  addEventListener("afterprint", () => {
    for (const details of document.querySelectorAll("details[data-printing]")) {
      details.open = false;
      delete details.dataset.printing;
    }
  });
  if (location.hash === "#selftest") {
    const report = element("pre", "", document.body);
    report.id = "selftest";
    report.textContent = JSON.stringify(charts.map(tryChart));
  }
})();
