// The agent, its memory and two worlds, as pure functions: the same numbers as reinstate in JAX.
// Runs in a page and in Node, where the tests compare the two step by step.
const Play = (() => {
  "use strict";
  const LARGEST_STORED = 1e6; // as in reinstate.agent
  const TINY = 1e-12; // as in reinstate.memory
  const { fround: f32 } = Math;

  // Mulberry32: numbers in 0 … 1 that depend on the seed alone.
  function generator(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  const below = (random, limit) => Math.floor(random() * limit);

  function shuffled(random, values) {
    const left = [...values];
    for (let i = left.length - 1; i > 0; i--) {
      const j = below(random, i + 1);
      [left[i], left[j]] = [left[j], left[i]];
    }
    return left;
  }

  const range = (count, of = (i) => i) => Array.from({ length: count }, (_, i) => of(i));

  // ---- The agent ----

  function fromHalf(bits) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1024 + fraction) * 2 ** (exponent - 25);
  }

  function decode(base64) {
    const bytes = atob(base64);
    const at = (i) => bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
    return Float64Array.from({ length: bytes.length / 2 }, (_, i) => fromHalf(at(i)));
  }

  // Weights come one after the other, in the order of reinstate.figures.page.play.
  function makeAgent({ hidden, inputs, actions, weights }) {
    const all = decode(weights);
    const sizes = [(inputs + hidden) * 5 * hidden, 5 * hidden, (actions + 1) * hidden, actions + 1];
    let start = 0;
    const [weight, bias, headWeight, headBias] = sizes.map((size) => {
      start += size;
      return all.subarray(start - size, start);
    });
    if (start !== all.length) throw new Error(`${all.length} weights, expected ${start}`);
    // Column by column, so that the sums below run along neighbours: that is twice as fast.
    const [rows, columns] = [inputs + hidden, 5 * hidden];
    const turned = weight.map((_, i) => weight[(i % rows) * columns + Math.floor(i / rows)]);
    return { hidden, inputs, actions, weight: turned, bias, headWeight, headBias };
  }

  const startState = (agent) => ({ c: new Float64Array(agent.hidden), h: new Float64Array(agent.hidden) });

  const sigmoid = (z) => 1 / (1 + Math.exp(-z));

  // One step of reinstate.agent.Agent: c = i ∘ c_in + f ∘ c + r ∘ c_ep, h = o ∘ tanh(c).
  function sense(agent, features, action, reward, state, cEp) {
    const { hidden, weight, bias } = agent;
    const x = new Float64Array(agent.inputs + hidden);
    x.set(features);
    if (action >= 0) x[features.length + action] = 1;
    x[agent.inputs - 1] = reward;
    x.set(state.h, agent.inputs);
    const [c, h, r] = range(3, () => new Float64Array(hidden));
    const [size, apart] = [x.length, hidden * x.length]; // of a unit's weights, and between its gates
    for (let u = 0; u < hidden; u++) {
      let i = bias[u];
      let f = bias[hidden + u];
      let o = bias[2 * hidden + u];
      let cIn = bias[3 * hidden + u];
      let reinstated = bias[4 * hidden + u];
      for (let row = 0, at = u * size; row < size; row++, at++) {
        i += x[row] * weight[at];
        f += x[row] * weight[at + apart];
        o += x[row] * weight[at + 2 * apart];
        cIn += x[row] * weight[at + 3 * apart];
        reinstated += x[row] * weight[at + 4 * apart];
      }
      r[u] = sigmoid(reinstated);
      c[u] = sigmoid(i) * Math.tanh(cIn) + sigmoid(f) * state.c[u] + r[u] * cEp[u];
      h[u] = sigmoid(o) * Math.tanh(c[u]);
    }
    const out = range(agent.actions + 1, (row) => {
      let sum = agent.headBias[row];
      for (let u = 0; u < hidden; u++) sum += h[u] * agent.headWeight[row * hidden + u];
      return sum;
    });
    return { state: { c, h }, logits: out.slice(0, -1), value: out.at(-1), r };
  }

  const toStore = (state) => state.c.map((c) => Math.min(Math.max(c, -LARGEST_STORED), LARGEST_STORED));

  function softmax(logits) {
    const most = Math.max(...logits);
    const parts = logits.map((logit) => Math.exp(logit - most));
    const sum = parts.reduce((a, b) => a + b);
    return parts.map((part) => part / sum);
  }

  function draw(random, logits) {
    let left = random();
    const chosen = softmax(logits).findIndex((p) => (left -= p) < 0);
    return chosen < 0 ? logits.length - 1 : chosen;
  }

  // ---- The memory: cosine distance, one neighbour, ties to the newest ----

  const norm = (key) => f32(Math.sqrt(f32(Math.max(key.reduce((sum, bit) => sum + bit * bit, 0), TINY))));

  // Rounded like JAX's at every step, so that both see the same ties.
  function distance(key, query) {
    const dot = key.reduce((sum, bit, i) => sum + bit * query[i], 0);
    return Math.max(f32(1 - f32(dot / f32(norm(key) * norm(query)))), 0);
  }

  // Entries are {key, value, episode}, in the order in which they were written.
  function read(memory, query) {
    let found = null;
    for (const entry of memory) {
      const away = distance(entry.key, query);
      if (!found || away <= found.distance) found = { entry, distance: away };
    }
    return found;
  }

  // An epoch has ten contexts at most and the agent's memory a hundred slots: none is ever lost.
  function write(memory, entry) {
    const same = (other) => other.key.every((bit, i) => bit === entry.key[i]);
    return [...memory.filter((other) => !same(other)), entry];
  }

  // ---- Worlds. All chance is in a task's `luck`, so that you and the agent meet the same. ----

  const elsewhere = (random, goal, cells) => {
    const cell = below(random, cells - 1);
    return cell + (cell >= goal ? 1 : 0);
  };

  const waterMaze = ({ width, height, steps }) => ({
    length: steps,
    answers: (random) => shuffled(random, range(width * height)), // a goal for every context
    luck: (random, goal) => range(steps + 1, () => elsewhere(random, goal, width * height)),
    start: (task) => ({ cell: task.luck[0], spawned: 1 }),
    features: ({ cell }) => [
      (2 * (cell % width)) / (width - 1) - 1,
      (2 * Math.floor(cell / width)) / (height - 1) - 1,
    ],
    step(task, { cell, spawned }, action) {
      const [x, y] = [cell % width, Math.floor(cell / width)];
      const to = [
        [Math.max(x - 1, 0), y],
        [Math.min(x + 1, width - 1), y],
        [x, Math.max(y - 1, 0)],
        [x, Math.min(y + 1, height - 1)],
      ][action];
      const landed = to[1] * width + to[0];
      if (landed !== task.answer) return { state: { cell: landed, spawned }, reward: 0, landed };
      return { state: { cell: task.luck[spawned], spawned: spawned + 1 }, reward: 1, landed };
    },
  });

  const bandit = ({ arms, pulls, pGood, pBad }) => ({
    length: pulls,
    answers: (random) => shuffled(random, range(arms)), // a good arm for every context
    luck: (random) => range(pulls, random),
    start: () => ({ pulls: 0 }),
    features: () => [],
    step(task, state, action) {
      const reward = task.luck[state.pulls] < (action === task.answer ? pGood : pBad) ? 1 : 0;
      return { state: { pulls: state.pulls + 1 }, reward };
    },
  });

  const WORLDS = { "water-maze": waterMaze, "barcode-bandits": bandit };
  const makeWorld = ({ world, settings }) => WORLDS[world](settings);

  // Distinct barcodes, none of them all zero.
  function barcodes(random, count, length) {
    const found = new Set();
    while (found.size < count) found.add(1 + below(random, 2 ** length - 1));
    return [...found].map((number) => range(length, (bit) => (number >> bit) & 1));
  }

  // A bag with `repeats` copies of each context, drawn until it is empty. Contexts are counted in
  // the order in which they are met.
  function sampleEpoch(world, random, { contexts, repeats, barcodeLength }) {
    const codes = barcodes(random, contexts, barcodeLength);
    const answers = world.answers(random);
    const met = [];
    return shuffled(random, range(contexts * repeats, (i) => i % contexts)).map((index) => {
      const exposure = met.filter((other) => other === index).length;
      met.push(index);
      const context = [...new Set(met)].indexOf(index);
      return { context, exposure, key: codes[index], answer: answers[index], luck: world.luck(random, answers[index]) };
    });
  }

  // ---- Episodes, as reinstate.rollout plays them ----

  function playEpisode(agent, world, memory, task, episode, choose, recall) {
    const found = read(memory, task.key);
    const cEp = found ? found.entry.value.map((c) => recall * c) : new Float64Array(agent.hidden);
    let [state, inner, action, reward] = [world.start(task), startState(agent), -1, 0];
    const steps = [];
    const look = () => sense(agent, world.features(state), action, reward, inner, cEp);
    for (let step = 0; step < world.length; step++) {
      const seen = look();
      const before = state;
      action = choose(seen.logits, episode, step);
      const after = world.step(task, before, action);
      ({ state, reward } = after);
      inner = seen.state;
      steps.push({ before, after, action, reward, logits: seen.logits, value: seen.value, r: seen.r });
    }
    // One more step, which sees the last reward: without it the stored state would lack it.
    const value = toStore(look().state);
    return { task, found, steps, stored: { key: task.key, value, episode, context: task.context } };
  }

  function play(agent, world, tasks, choose, recall = 1) {
    let memory = [];
    return tasks.map((task, number) => {
      const episode = playEpisode(agent, world, memory, task, number, choose, recall);
      const before = memory;
      memory = write(memory, episode.stored);
      return { ...episode, before, after: memory };
    });
  }

  const choosing = (random) => (logits) => draw(random, logits);

  return {
    generator, makeAgent, makeWorld, sampleEpoch, play, choosing, softmax, read, write, distance, range,
  };
})();
if (typeof module !== "undefined") module.exports = Play;
