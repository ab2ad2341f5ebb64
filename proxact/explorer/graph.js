// One number: the graphs of a prox, of its penalty and of the Moreau envelope.
(() => {
  const { path, line, dot, around, place, picture, number, SIZE } = explorer.svg;
  const { prox, penalty, envelope, catalogue } = explorer.scalar;
  const [LEFT, RIGHT, TOP, BOTTOM] = [34, SIZE - 12, 14, SIZE - 30];
  const INSIDE = { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };

  // From numbers to the picture, for x in [a, b] and values in [low, high].
  function frame([a, b], [low, high]) {
    const across = (x) => LEFT + (RIGHT - LEFT) * (x - a) / (b - a);
    const up = (value) => BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low);
    const at = (x, value) => [across(x), up(value)];
    const marks = (from, to) => {
      const step = to - from > 6 ? 2 : 1;
      const first = Math.ceil(from / step) * step;
      return Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, i) => first + step * i);
    };
    const kind = (value) => (value === 0 ? "axis" : "grid");
    const name = (x, y, value) =>
      `<text x="${x}" y="${y}" class="label quiet" font-size="13">${number(value, 0)}</text>`;
    const upright = marks(a, b).map((x) => line(at(x, low), at(x, high), kind(x)) + name(across(x), BOTTOM + 14, x));
    const level = marks(low, high).map((v) => line(at(a, v), at(b, v), kind(v)) + name(LEFT - 14, up(v), v));
    return { at, across, a, b, low, high, grid: [...upright, ...level].join("") };
  }

  // The graph of a function, broken where it leaves the frame or is infinite. A closed end gets its own point.
  function curve({ at, a, b, low, high }, f, kind, ends = []) {
    const count = 400;
    const xs = Array.from({ length: count + 1 }, (_, i) => a + (b - a) * i / count);
    const all = [...xs, ...ends.filter((x) => x > a && x < b)].sort((p, q) => p - q);
    const runs = [[]];
    for (const x of all) {
      const value = f(x);
      if (value <= 2 * high - low && value >= 2 * low - high) runs[runs.length - 1].push(at(x, value));
      else runs.push([]);
    }
    return `<g clip-path="url(#graph-frame)">${runs.map((run) => path(run, kind)).join("")}</g>`;
  }

  // What lies outside the domain of the penalty, where it is infinite.
  function walls({ across, a, b }, [low, high]) {
    const block = (from, to) => path([[from, TOP], [to, TOP], [to, BOTTOM], [from, BOTTOM]], "polar walls", true);
    return (low > a ? block(LEFT, across(Math.min(low, b))) : "") +
      (high < b ? block(across(Math.max(high, a)), RIGHT) : "");
  }

  const main = picture("main-graph", "Graph of the activation");
  const second = picture("penalty-graph", "Graph of the penalty");
  const third = picture("envelope-graph", "Graph of the Moreau envelope");
  const clip = explorer.svg.element("clipPath", { id: "graph-frame" }, document.getElementById("shared"));
  explorer.svg.element("rect", { x: LEFT, y: TOP, width: RIGHT - LEFT, height: BOTTOM - TOP }, clip);

  const interval = (state) => catalogue[state.prox].view ?? [-4, 4];
  const toNumber = (state, px) => {
    const [a, b] = interval(state);
    return a + (b - a) * (px - LEFT) / (RIGHT - LEFT);
  };
  const move = explorer.handles.handle(main, {
    id: "number-handle", kind: "x", label: "Number x. Left and right keys move it, Shift makes small steps",
    min: -5, max: 9, // over all functions
    drag: (px) => explorer.set({ number: toNumber(explorer.state, px) }),
    key: (name, isFine) => {
      const [min, max] = interval(explorer.state);
      const range = { min, max, step: isFine ? 0.01 : 0.05, page: 1 };
      explorer.set({ number: explorer.handles.slide(explorer.state.number, name, isFine, range) });
    },
  });
  for (const { root } of [main, third]) {
    root.addEventListener("click", (event) => {
      if (event.target.closest(".handle")) return;
      explorer.set({ number: toNumber(explorer.state, explorer.svg.position(root, event)[0]) });
    });
  }

  // The activation, with ReLU beside it.
  function drawActivation(state, { x, y, f, domain }) {
    const [a, b] = interval(state);
    const square = frame([a, b], [a, b]);
    const [start, end, foot] = [square.at(x, 0), square.at(x, y), square.at(0, y)];
    const labels = [
      { text: "x", at: start, towards: y > 0 ? -Math.PI / 2 : Math.PI / 2, kind: "name x" },
      { text: `y = ${number(y, 2)}`, at: end, towards: y > 0 ? 3 * Math.PI / 4 : -Math.PI / 4, kind: "name y" },
    ];
    const relu = curve(square, (v) => Math.max(0, v), "relu-curve", [0]);
    main.show(square.grid + curve(square, (v) => v, "identity") + relu +
      curve(square, f, "curve", domain) + line(start, end, "way") + line(end, foot, "part") + dot(end, 6.5, "y") +
      place(labels, [around(start, 12), around(end, 8)], INSIDE));
    move(start, x, `x is ${number(x, 2)}, y is ${number(y)}`);
  }

  // The penalty, near its domain, and what y makes least.
  function drawPenalty(state, { x, y, phi, M, domain, least }) {
    const [a, b] = interval(state);
    const isBounded = domain.every(Number.isFinite);
    const [from, to] = isBounded ? [Math.max(a, domain[0] - 1.5), Math.min(b, domain[1] + 1.5)] : [a, b];
    const near = frame([from, to], [least, Math.max(least + 3.4, M(x) + 1.5)]);
    const lowest = near.at(y, M(x));
    const mark = near.at(Math.min(to, Math.max(from, x)), least);
    const labels = [
      { text: "y", at: lowest, towards: Math.PI / 2, kind: "name y" },
      { text: x > to ? "x →" : x < from ? "← x" : "x", at: mark, towards: Math.PI / 2, away: 8, kind: "name x" },
    ];
    second.show(walls(near, domain) + near.grid + curve(near, (v) => phi(v) + (v - x) ** 2 / 2, "objective", domain) +
      curve(near, phi, "curve", domain) + line([lowest[0], BOTTOM], lowest, "part") + dot(lowest, 6.5, "y") +
      dot(mark, 6, "x") + place(labels, [around(lowest, 8), around(mark, 7)], INSIDE));
  }

  function drawEnvelope(state, { x, y, phi, M, domain, least }) {
    const [a, b] = interval(state);
    const wide = frame([a, b], [least, Math.max(least + 3.4, M(a) + 0.4, M(b) + 0.4)]);
    const here = wide.at(x, M(x));
    const lean = x - y; // the slope of the envelope
    const tangent = line(wide.at(x - 1, M(x) - lean), wide.at(x + 1, M(x) + lean), "tangent");
    const label = { text: "x", at: here, towards: lean > 0 ? -Math.PI / 4 : -3 * Math.PI / 4, kind: "name x" };
    third.show(walls(wide, domain) + wide.grid + curve(wide, phi, "curve faint", domain) + curve(wide, M, "envelope") +
      `<g clip-path="url(#graph-frame)">${tangent}</g>` + dot(here, 6.5, "x") +
      place([label], [around(here, 9)], INSIDE));
  }

  function draw(state) {
    const { prox: name, number: x } = state;
    const parameters = state.parameters[name];
    const [f, phi, M] = [prox, penalty, envelope].map((g) => (value) => g(name, value, parameters));
    const [a, b] = interval(state);
    const seen = Array.from({ length: 81 }, (_, i) => phi(a + (b - a) * i / 80));
    const least = Math.min(phi(f(0)), ...seen) - 0.4;
    const shown = { x, y: f(x), f, phi, M, least, domain: catalogue[name].domain(parameters) };
    drawActivation(state, shown);
    drawPenalty(state, shown);
    drawEnvelope(state, shown);
  }

  explorer.graph = { draw, interval };
})();
