(() => {
  "use strict";
  const { made } = Boards;
  const SECONDS = 0.32; // per step of the agent
  const SIZES = [
    { contexts: 3, repeats: 2, label: "each met twice" },
    { contexts: 5, repeats: 3, label: "each met 3 times" },
    { contexts: 10, repeats: 10, label: "each met 10 times (the paper)" },
  ];
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
  const rewardOf = (steps) => steps.reduce((sum, { reward }) => sum + reward, 0);

  // What differs between the games: how they are drawn, and the words.
  const KINDS = {
    "water-maze": {
      place: "Maze", reward: "goal", step: "step",
      board: Boards.maze, view: Boards.mazeView,
      actions: { ArrowLeft: 0, ArrowRight: 1, ArrowUp: 2, ArrowDown: 3 },
      keys: ["←", "→", "↑", "↓"],
      did({ action, reward, landed, cell, stuck }, settings, who) {
        const where = Boards.cellName(reward ? landed : cell, settings);
        if (reward) return `${Boards.MOVES[action]}: the goal, in ${where}! ${who} put elsewhere, to ${Boards.cellName(cell, settings)}.`;
        return `${Boards.MOVES[action]}${stuck ? ": a wall" : ""}, ${where}.`;
      },
      knows: (answer, settings) => `The dashed ring is the goal: ${Boards.cellName(answer, settings)}.`,
    },
    "barcode-bandits": {
      place: "Bandit", reward: "reward", step: "pull",
      board: Boards.arms, view: Boards.armsView,
      actions: Object.fromEntries(Play.range(10, (arm) => [String((arm + 1) % 10), arm])),
      keys: [],
      did: ({ action, reward }) => `arm ${action + 1}: ${reward ? "a reward!" : "nothing."}`,
      knows: (answer) => `Its good arm is ${answer + 1}.`,
    },
  };

  function mount(root) {
    const data = JSON.parse(root.dataset.given);
    const [kind, world, agent] = [KINDS[data.world], Play.makeWorld(data), Play.makeAgent(data.agent)];
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    const doing = (name) => root.querySelector(`[data-do="${name}"]`);
    const frames = world.length + 1; // of an episode: before each step, and after the last
    let game = null;
    let timer = null;

    function begin() {
      stop();
      const size = SIZES[part("size").value];
      const seed = crypto.getRandomValues(new Uint32Array(1))[0];
      const tasks = Play.sampleEpoch(world, Play.generator(seed), { ...size, barcodeLength: data.barcodeLength });
      // The same draws of actions with and without recall: what differs is the memory alone.
      const played = (recall) => Play.play(agent, world, tasks, Play.choosing(Play.generator(seed + 1)), recall);
      game = { size, tasks, yours: [[]], played: [played(0), played(1)], watched: [0, 0], frame: 0 };
      part("frame").max = tasks.length * frames - 1;
      part("recall").checked = true;
      turn("you", false);
      say(`${name(tasks[0])} is new to you. ${count(world.length, kind.step)}.`);
    }

    const last = () => game.tasks.length * frames - 1;
    const name = (task) => `${kind.place} ${String.fromCharCode(65 + task.context)}`;
    const recall = () => Number(part("recall").checked);
    const yourTurn = () => root.dataset.turn === "you";

    function say(text, aloud = true) {
      const sentence = text[0].toUpperCase() + text.slice(1);
      part("said").textContent = sentence;
      if (aloud) part("live").textContent = sentence;
    }

    function turn(who, alive = true) {
      stop();
      root.dataset.turn = who;
      for (const button of root.querySelectorAll("[data-turn]")) button.setAttribute("aria-pressed", String(button.dataset.turn === who));
      part("player").hidden = part("mind").hidden = yourTurn();
      part("board").tabIndex = yourTurn() && kind.keys.length ? 0 : -1;
      if (yourTurn()) {
        showYours();
        return say(over() ? `${name(now().task)} is over.` : `Your turn in ${name(now().task)}: ${count(world.length - now().steps.length, kind.step)} left.`);
      }
      if (alive && !still.matches && game.frame === 0) return run();
      show(game.frame);
    }

    function showWhere(task, episode) {
      const met = task.exposure ? `exposure ${task.exposure + 1}: met before` : "exposure 1: new";
      const words = made("span", {}, made("b", {}, name(task)), `, ${met}`);
      words.append(made("small", {}, `episode ${episode + 1} of ${game.tasks.length}`));
      words.append(made("span", { class: "unseen" }, `, barcode ${task.key.join("")}`));
      part("where").replaceChildren(Boards.barcode(task.key), words);
    }

    // Say what a step did; `steps` are all up to it.
    function tell(task, steps, who) {
      const [before, after] = [kind.view(world, task, steps.slice(0, -1)), kind.view(world, task, steps)];
      const { action, reward } = steps.at(-1);
      const fact = { action, reward, landed: after.found, cell: after.cell, stuck: before.cell === after.cell && !reward };
      const left = world.length - steps.length;
      return `${kind.did(fact, data.settings, who)} ${count(rewardOf(steps), kind.reward)} so far, ${count(left, kind.step)} left.`;
    }

    // ---- You ----

    const now = () => ({ episode: game.yours.length - 1, steps: game.yours.at(-1), task: game.tasks[game.yours.length - 1] });
    const over = () => now().steps.length === world.length;
    const finished = () => over() && game.yours.length === game.tasks.length;

    function showYours() {
      const { episode, steps, task } = now();
      showWhere(task, episode);
      draw({ view: kind.view(world, task, steps), wishes: null, answer: null, playing: !over() });
      showKeys();
      showScores();
    }

    function showKeys() {
      if (over()) {
        const button = made("button", { type: "button", class: "wide first" }, finished() ? "Now watch the agent" : "Next episode");
        button.addEventListener("click", goOn);
        part("keys").replaceChildren(button);
      } else if (!part("keys").querySelector("[data-move]")) {
        part("keys").replaceChildren(...kind.keys.map((sign, action) => {
          const button = made("button", { type: "button", "data-move": action, "aria-label": Boards.MOVES[action] }, sign);
          button.addEventListener("click", () => act(action));
          return button;
        }));
      }
    }

    function act(action) {
      if (!yourTurn() || over()) return;
      const { steps, task } = now();
      let state = world.start(task);
      for (const step of steps) ({ state } = world.step(task, state, step.action));
      steps.push({ action, reward: world.step(task, state, action).reward });
      const focused = root.querySelector(".keys:focus-within, .arms:focus-within");
      showYours();
      say(tell(task, steps, "You are"));
      if (!over()) return;
      const earned = `${name(task)} is over: ${count(rewardOf(steps), kind.reward)}.`;
      say(finished() ? `${earned} In all you have ${inAll()}. Now watch the agent.` : `${earned} Press Enter, or the button, to continue.`);
      if (focused) part("keys").firstChild.focus();
    }

    const inAll = () => game.yours.reduce((sum, steps) => sum + rewardOf(steps), 0);

    function goOn() {
      if (!yourTurn() || !over()) return;
      if (finished()) {
        turn("agent");
        return doing("run").focus();
      }
      game.yours.push([]);
      const { task } = now();
      showYours();
      say(`${name(task)}${task.exposure ? ` again: you were here ${count(task.exposure, "time")} before` : " is new to you"}. ${count(world.length, kind.step)}.`);
      (root.querySelector(".arms button") ?? part("board")).focus();
    }

    // ---- The agent ----

    function show(frame, aloud = true) {
      game.frame = frame;
      const [number, step] = [Math.floor(frame / frames), frame % frames];
      const episode = game.played[recall()][number];
      const [steps, ended] = [episode.steps.slice(0, step), step === world.length];
      const decision = episode.steps[Math.min(step, world.length - 1)];
      game.watched[recall()] = Math.max(game.watched[recall()], number + ended);
      showWhere(episode.task, number);
      const wishes = ended ? null : Play.softmax(decision.logits);
      draw({ view: kind.view(world, episode.task, steps), wishes, answer: episode.task.answer, playing: false, jump: step === 0 });
      Boards.gates(part("gates"), decision.r);
      part("gates-said").textContent = gatesSaid(decision.r, episode.found);
      showEntries(episode, ended);
      const at = `episode ${number + 1}, ${kind.step} ${step}`;
      part("frame").value = frame;
      part("frame").setAttribute("aria-valuetext", at);
      part("keys").replaceChildren();
      showScores();
      say(agentSaid(episode, steps, ended), aloud);
    }

    function agentSaid(episode, steps, ended) {
      const { task } = episode;
      if (ended) return `${name(task)} is over: ${count(rewardOf(steps), kind.reward)}. The agent stores its state.${closing()}`;
      if (steps.length) return tell(task, steps, "The agent is");
      return `The agent in ${name(task)}, exposure ${task.exposure + 1}. ${recalled(episode)} ${kind.knows(task.answer, data.settings)}`;
    }

    function closing() {
      if (game.frame < last()) return "";
      const whole = game.played[recall()].reduce((sum, { steps }) => sum + rewardOf(steps), 0);
      return ` In all it has ${count(whole, kind.reward)}${finished() ? `, and you have ${inAll()}` : ""}.`;
    }

    function recalled({ found, task }) {
      if (!found) return "Its memory is empty.";
      const whose = found.entry.context === task.context ? "its own" : `only ${name(found.entry)} is near`;
      return recall() ? `What comes back is episode ${found.entry.episode + 1} (${whose}).` : "Recall is off: nothing comes back.";
    }

    function gatesSaid(r, found) {
      const mean = r.reduce((a, b) => a + b) / r.length;
      const wide = r.filter((each) => each > 0.5).length;
      const effect = !found ? " There is nothing to let in yet." : recall() ? "" : " Recall is off: nothing comes through.";
      return `Mean ${mean.toFixed(2)}; ${wide} of ${r.length} units are more than half open.${effect}`;
    }

    function showEntries({ task, found, before, after, stored }, ended) {
      const memory = [...(ended ? after : before)].sort((a, b) => a.context - b.context);
      part("entries").replaceChildren(...memory.map((entry) => {
        const comes = !ended && found?.entry === entry;
        const own = entry.context === task.context;
        const away = found?.distance.toFixed(2);
        const text = comes ? (recall() ? "comes back" : "found, but recall is off") + (own ? "" : `: the nearest, distance ${away}`) : "";
        const fresh = ended && entry === stored ? "stored just now" : text;
        const note = `episode ${entry.episode + 1}${fresh ? `: ${fresh}` : ""}`;
        return Boards.entry({ ...entry, name: name(entry), note, kind: comes ? (recall() ? "lit" : "off") : entry === stored ? "lit" : "" });
      }));
      if (!memory.length) part("entries").append(made("li", {}, "empty: the first episode is still to end"));
      // Only the list scrolls, never the page.
      const lit = part("entries").querySelector(".lit, .off");
      if (lit) part("entries").scrollTop = lit.offsetTop - part("entries").offsetTop - 60;
    }

    function run() {
      if (game.frame >= last()) game.frame = 0;
      doing("run").textContent = "Pause";
      show(game.frame);
      timer = setInterval(() => {
        const next = game.frame + 1;
        show(next, next % frames === 0 || (next + 1) % frames === 0);
        if (next >= last()) stop();
      }, 1000 * SECONDS);
    }

    function stop() {
      clearInterval(timer);
      timer = null;
      doing("run").textContent = "Play";
    }

    function jump(to) {
      stop();
      show(Math.min(Math.max(to, 0), last()));
    }

    // ---- Scores ----

    function showScores() {
      const { repeats } = game.size;
      const groups = [[0, 1], [1, 2], [2, repeats]].filter(([from, to]) => from < Math.min(to, repeats));
      const titles = groups.map(([from, to]) => (to - from > 1 ? `${from + 1} to ${to}` : String(from + 1)));
      part("score-head").replaceChildren(made("tr", {}, made("th", { scope: "col" }, "exposure"), ...titles.map((title) => made("th", { scope: "col" }, title))));
      const mean = (numbers) => (numbers.length ? (numbers.reduce((a, b) => a + b) / numbers.length).toFixed(2) : "–");
      const line = (label, colour, cells) => {
        const dot = colour ? [made("span", { class: "dot", style: `color:var(--${colour})`, "aria-hidden": "true" })] : [];
        return made("tr", {}, made("th", { scope: "row" }, ...dot, label), ...cells.map((cell) => made("td", {}, cell)));
      };
      const scored = (episodes) => groups.map(([from, to]) => mean(episodes.filter(([{ exposure }]) => from <= exposure && exposure < to).map(([, steps]) => rewardOf(steps))));
      const yours = game.yours.filter((steps) => steps.length === world.length).map((steps, i) => [game.tasks[i], steps]);
      const theirs = (on) => game.played[on].slice(0, game.watched[on]).map(({ task, steps }) => [task, steps]);
      part("scores").replaceChildren(
        line("you", "you", scored(yours)),
        line("agent", "agent", scored(theirs(1))),
        line("agent, recall off", "muted", scored(theirs(0))),
        line("best possible, on average", null, groups.map(([from, to]) => mean(data.best.slice(from, to)))),
      );
    }

    // ---- Wiring ----

    const draw = kind.board(part("board"), data.settings, act);
    SIZES.forEach(({ contexts, label }, i) => part("size").append(made("option", { value: i }, `${contexts} ${kind.place.toLowerCase()}s, ${label}`)));
    for (const button of root.querySelectorAll("[data-turn]")) button.addEventListener("click", () => turn(button.dataset.turn));
    root.querySelector(".stage").addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || !yourTurn() || event.target.dataset.turn) return;
      const action = kind.actions[event.key];
      if (action === undefined && !(event.key === "Enter" && over())) return;
      event.preventDefault();
      if (action === undefined) goOn();
      else act(action);
    });
    part("frame").addEventListener("input", () => jump(Number(part("frame").value)));
    part("recall").addEventListener("change", () => {
      game.frame -= game.frame % frames;
      show(game.frame);
    });
    part("size").addEventListener("change", begin);
    doing("new").addEventListener("click", begin);
    doing("run").addEventListener("click", () => (timer ? stop() : run()));
    doing("step").addEventListener("click", () => jump(game.frame + 1));
    doing("back").addEventListener("click", () => jump(Math.ceil(game.frame / frames - 1) * frames));
    doing("on").addEventListener("click", () => jump((Math.floor(game.frame / frames) + 1) * frames));
    root.querySelector(".desk").hidden = false;
    begin();
  }

  document.querySelectorAll(".game").forEach(mount);
  // Arrow keys play at once, and do not scroll.
  document.querySelector('[data-part="board"]').focus({ preventScroll: true });
})();
