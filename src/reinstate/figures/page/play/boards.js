// How worlds, memories and gates are drawn. Nothing in here knows whose turn it is.
const Boards = (() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const SIDE = 100; // of a cell of the maze
  const MOVES = ["left", "right", "up", "down"];

  function made(name, attributes, ...children) {
    const svg = /^(svg|rect|path|circle|g)$/.test(name);
    const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  const rect = (x, y, width, height, more = {}) => made("rect", { x, y, width, height, ...more });

  // A picture that a sentence beside it says in words.
  const picture = (width, height, more, ...shapes) =>
    made("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", ...more }, ...shapes);

  function barcode(key) {
    const bars = key.map((bit, i) => (bit ? rect(4 + 7 * i, 4, 5, 26) : rect(4 + 7 * i, 27, 5, 3)));
    return picture(77, 34, { class: "barcode", preserveAspectRatio: "none" }, ...bars);
  }

  // A stored state: each unit by tanh(c), which is what the network sees of it.
  function stripes(values) {
    const units = [...values].map((c, i) => {
      const seen = Math.tanh(c);
      const opacity = Math.abs(seen).toFixed(2);
      return rect(i, 0, 0.9, 1, { class: seen < 0 ? "less" : "more", opacity });
    });
    return picture(values.length, 1, { class: "state", preserveAspectRatio: "none" }, ...units);
  }

  function gates(parent, r) {
    if (!parent.firstChild) {
      const units = [...r].map((_, i) => rect(i, 0, 0.8, 0));
      parent.append(picture(r.length, 1, { preserveAspectRatio: "none" }, ...units));
    }
    parent.querySelectorAll("rect").forEach((bar, i) => {
      bar.setAttribute("height", r[i].toFixed(3));
      bar.setAttribute("y", (1 - r[i]).toFixed(3));
    });
  }

  function entry({ key, value, name, note, kind }) {
    const words = made("span", {}, made("b", {}, name), made("br", {}), note);
    return made("li", kind ? { class: kind } : {}, barcode(key), words, stripes(value));
  }

  // ---- The maze ----

  const centre = (cell, width) => [(cell % width) + 0.5, Math.floor(cell / width) + 0.5].map((at) => at * SIDE);

  function maze(parent, { width, height }, move) {
    const cells = Play.range(width * height, (cell) =>
      rect((cell % width) * SIDE + 3, Math.floor(cell / width) * SIDE + 3, SIDE - 6, SIDE - 6, { class: "cell", rx: 8 }));
    const [hint, goal] = ["hint", "goal"].map((name) => made("circle", { class: name, r: 34 }));
    const trail = made("path", { class: "trail" });
    const arrows = [180, 0, 270, 90].map((turn) => made("path", { class: "wish", transform: `rotate(${turn})`, d: "M34 -12L48 0L34 12Z" }));
    const token = made("g", { class: "token" }, made("circle", { r: 24 }), ...arrows);
    const svg = picture(width * SIDE, height * SIDE, { class: "maze" }, ...cells, hint, goal, trail, token);
    parent.replaceChildren(svg);
    parent.setAttribute("role", "application");
    parent.setAttribute("aria-label", "Maze: arrow keys move, Enter continues");
    let at = 0;

    // A tap beside the token is a move towards it.
    svg.addEventListener("pointerup", (event) => {
      const box = svg.getBoundingClientRect();
      const [x, y] = centre(at, width).map((middle) => middle / SIDE);
      const [dx, dy] = [((event.clientX - box.left) / box.width) * width - x, ((event.clientY - box.top) / box.height) * height - y];
      if (Math.max(Math.abs(dx), Math.abs(dy)) < 0.5) return;
      move(Math.abs(dx) > Math.abs(dy) ? (dx < 0 ? 0 : 1) : dy < 0 ? 2 : 3);
    });

    const place = (circle, cell) => {
      circle.setAttribute("visibility", cell === null ? "hidden" : "visible");
      if (cell !== null) [circle.cx.baseVal.value, circle.cy.baseVal.value] = centre(cell, width);
    };

    return ({ view, wishes, answer, jump }) => {
      at = view.cell;
      cells.forEach((each, cell) => each.classList.toggle("seen", view.way.includes(cell)));
      place(goal, view.found);
      place(hint, answer);
      const points = view.way.map((cell) => centre(cell, width).join(" "));
      trail.setAttribute("d", points.length > 1 ? `M${points.join("L")}` : "");
      token.classList.toggle("jump", jump || view.way.length === 1);
      token.style.transform = `translate(${centre(at, width).map((part) => `${part}px`).join(",")})`;
      arrows.forEach((arrow, i) => arrow.setAttribute("opacity", wishes ? wishes[i].toFixed(2) : 0));
    };
  }

  // What is to be seen of the maze after some steps: the way since the last goal, and the goal while
  // it has just been found.
  function mazeView(world, task, steps) {
    let [state, way, found] = [world.start(task), [], null];
    way = [state.cell];
    for (const { action } of steps) {
      const after = world.step(task, state, action);
      state = after.state;
      found = after.reward ? after.landed : null;
      way = after.reward ? [state.cell] : [...way, state.cell];
    }
    return { cell: state.cell, way, found };
  }

  const cellName = (cell, { width }) => `column ${(cell % width) + 1}, row ${Math.floor(cell / width) + 1}`;

  // ---- The arms ----

  function arms(parent, { arms: count }, pull) {
    const buttons = Play.range(count, (arm) => {
      const parts = [made("span", { class: "wish" }), made("strong", {}, String(arm + 1)), made("span", { class: "pulls" })];
      const button = made("button", { type: "button" }, ...parts);
      button.addEventListener("click", () => pull(arm));
      return button;
    });
    const group = made("div", { class: "arms", role: "group", "aria-label": "Arms: keys 1 to 9 and 0, Enter continues" }, ...buttons);
    parent.replaceChildren(group);
    return ({ view, wishes, playing }) => {
      buttons.forEach((button, arm) => {
        const own = view.pulls.filter(({ action }) => action === arm);
        const won = own.filter(({ reward }) => reward).length;
        const dots = own.map(({ reward }) => made("i", reward ? { class: "won" } : {}));
        button.querySelector(".pulls").replaceChildren(...dots);
        button.querySelector(".wish").style.transform = `scaleY(${wishes ? wishes[arm].toFixed(3) : 0})`;
        button.classList.toggle("now", view.pulls.at(-1)?.action === arm);
        button.disabled = !playing;
        button.setAttribute("aria-label", `Arm ${arm + 1}, pulled ${own.length} times, ${won} rewards`);
      });
    };
  }

  const armsView = (world, task, steps) => ({ pulls: steps });

  return { made, barcode, gates, entry, maze, mazeView, cellName, arms, armsView, MOVES };
})();
