(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, className, parent, text = "") {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    parent.append(made);
    return made;
  }

  function shape(name, className, attributes, parent) {
    const made = document.createElementNS(SVG, name);
    made.setAttribute("class", className);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  }

  function button(text, parent, press) {
    const made = element("button", "", parent, text);
    made.type = "button";
    made.addEventListener("click", press);
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
    const series = [...figure.querySelectorAll("thead th[data-series]")];
    const points = [];
    for (const row of figure.querySelectorAll("tbody tr[data-x]")) {
      [...row.querySelectorAll("td")].forEach((cell, place) => {
        const y = parseFloat(cell.textContent);
        if (Number.isNaN(y)) return;
        const x = Number(row.dataset.x) + Number(series[place].dataset.aside);
        points.push({
          series: place, x: xAxis(x), y: yAxis(y), name: series[place].textContent,
          colour: series[place].dataset.colour,
          at: row.querySelector("th").textContent, value: cell.textContent,
        });
      });
    }
    return points;
  }

  // Beside the point if there is room, else below the picture: never over what is pointed at.
  function place(tip, plot, svg, x) {
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const [right, left] = [x * scale + 14, x * scale - 14 - tip.offsetWidth];
    const fits = right + tip.offsetWidth <= plot.clientWidth;
    tip.style.left = `${fits ? right : Math.max(0, left)}px`;
    tip.style.top = fits || left >= 0 ? "0" : "100%";
  }

  function enliven(figure) {
    const plot = figure.querySelector(".plot");
    const svg = plot.querySelector("svg");
    const points = readPoints(figure, svg);
    const hidden = new Set();
    const [xLabel, yLabel] = svg.dataset.labels.split("|");
    const tip = element("div", "tip", plot);
    tip.setAttribute("role", "status");
    const marks = shape("g", "", { "aria-hidden": "true" }, svg);
    let shown = null;

    const visible = () => points.filter((point) => !hidden.has(point.series));
    const level = (point) => visible().filter((other) => other.at === point.at);

    function hide() {
      shown = null;
      marks.replaceChildren();
      tip.replaceChildren();
    }

    // One tip for all series at a place, in the order in which they lie there.
    function show(point) {
      shown = point;
      marks.replaceChildren();
      tip.replaceChildren();
      shape("path", "guide", { d: `M${point.x} 0V${svg.dataset.y.split(" ")[0]}` }, marks);
      element("strong", "", tip, `${xLabel}: ${point.at}`);
      element("span", "bound", tip, yLabel);
      for (const other of level(point).sort((a, b) => a.y - b.y)) {
        const kind = `${other.colour}${other === point ? " chosen" : ""}`;
        const line = element("div", kind, tip);
        element("i", "", line);
        line.append(`${other.name}: ${other.value}`);
        const r = other === point ? 3.6 : 2.5;
        shape("circle", `cursor ${kind}`, { cx: other.x, cy: other.y, r }, marks);
      }
      place(tip, plot, svg, point.x);
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
      const there = level(from);
      const step = key === "ArrowDown" ? 1 : there.length - 1;
      return there[(there.indexOf(from) + step) % there.length];
    }

    function press(event) {
      if (event.key === "Escape") return hide();
      if (!/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key) || !visible().length) return;
      event.preventDefault();
      show(neighbour(event.key));
    }

    function toggle(entry, place) {
      const on = entry.getAttribute("aria-pressed") !== "true";
      entry.setAttribute("aria-pressed", String(on));
      if (on) hidden.delete(place);
      else hidden.add(place);
      for (const each of svg.querySelectorAll(`[data-series="${place}"]`)) each.toggleAttribute("hidden", !on);
      hide();
    }

    for (const entry of figure.querySelectorAll(".legend li")) {
      const content = [...entry.childNodes];
      const switched = button("", entry, () => toggle(switched, Number(entry.dataset.series)));
      switched.setAttribute("aria-pressed", "true");
      switched.append(...content);
    }
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${svg.querySelector("title").textContent}: arrow keys read values`);
    // The title is for screen readers; as a browser's own tooltip it would cover ours.
    svg.setAttribute("aria-label", svg.querySelector("title").textContent);
    svg.querySelector("title").remove();
    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("keydown", press);
    plot.addEventListener("blur", hide);
  }

  document.querySelectorAll("figure.chart").forEach(enliven);
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.printed:not([open])")) {
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
})();
