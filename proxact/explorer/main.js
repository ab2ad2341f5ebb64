// The state of the page. Everything that is shown follows from it, at once.
(() => {
  const { catalogue, defaults } = explorer.scalar;
  const { LIMIT } = explorer.plane;
  const clamp = (value, min, max) => Math.min(max, Math.max(min, value));
  const snap = (value, step) => Number((Math.round(value / step) * step).toFixed(4)) + 0;

  const start = () => ({
    mode: "plane", // plane (m = 2), space (m = 3) or graph (one number)
    degrees: 30,
    leak: 0,
    arrows: true,
    plane: [-0.8, 1.6],
    space: [-0.4, -0.8, 1.8],
    turn: -40,
    tilt: 18,
    prox: "sigmoid",
    number: 1.5,
    parameters: Object.fromEntries(Object.keys(catalogue).map((name) => [name, defaults(name)])),
  });

  // A point inside the disc or ball that is shown, in hundredths: what is written is what is computed with.
  function keep(x) {
    const size = Math.hypot(...x);
    return x.map((value) => snap(size > LIMIT ? value * LIMIT / size : value, 0.01));
  }

  function clean(state) {
    const [low, high] = explorer.graph.interval(state);
    return {
      ...state,
      degrees: snap(clamp(state.degrees, 0, 90), 0.5),
      leak: snap(clamp(state.leak, 0, 1), 0.01),
      plane: keep(state.plane),
      space: keep(state.space),
      turn: ((state.turn + 540) % 360) - 180,
      tilt: clamp(state.tilt, -89, 89),
      number: snap(clamp(state.number, low, high), 0.01),
    };
  }

  function set(changes) {
    const state = clean({ ...explorer.state, ...changes });
    state.alpha = state.degrees / 180 * Math.PI;
    explorer.state = state;
    explorer.controls.update(state);
    explorer[state.mode].draw(state);
    explorer.values.update(state);
  }

  function setParameter(key, value) {
    const { prox, parameters } = explorer.state;
    const changed = { ...parameters[prox], [key]: value };
    if (key === "low") changed.high = Math.max(changed.high, value); // one end pushes the other
    if (key === "high") changed.low = Math.min(changed.low, value);
    set({ parameters: { ...parameters, [prox]: changed } });
  }

  const RIGHT = { min: 0, max: 90, step: 0.5, page: 10 };
  const slideAngle = (name, isFine) =>
    set({ degrees: explorer.handles.slide(explorer.state.degrees, name, isFine, RIGHT) });

  // A link may choose what is shown first: explorer.html#mode=graph&prox=tanh
  function fromAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const [mode, prox, degrees] = ["mode", "prox", "degrees"].map((key) => given.get(key));
    return {
      ...(["plane", "space", "graph"].includes(mode) ? { mode } : {}),
      ...(Object.keys(catalogue).includes(prox) ? { mode: "graph", prox } : {}),
      ...(degrees && Number.isFinite(Number(degrees)) ? { degrees: Number(degrees) } : {}),
    };
  }

  // Inside another page the frame grows with the content, so that only the outer page scrolls.
  function fit() {
    const frame = window.frameElement;
    if (!frame) return;
    document.body.classList.add("framed");
    new ResizeObserver(() => { frame.style.height = `${document.body.offsetHeight}px`; }).observe(document.body);
  }

  const reset = () => set({ ...start(), mode: explorer.state.mode });
  Object.assign(explorer, { set, setParameter, slideAngle, reset });
  set({ ...start(), ...fromAddress() });
  window.addEventListener("hashchange", () => set(fromAddress()));
  fit();
})();
