// Inputs to state and back.
(() => {
  const { number, angle } = explorer.svg;
  const { catalogue } = explorer.scalar;
  const get = (id) => document.getElementById(id);
  const on = (id, name, act) => get(id).addEventListener(name, (event) => act(event.target));

  for (const input of document.querySelectorAll("input[name=mode]")) {
    input.addEventListener("change", () => explorer.set({ mode: input.value }));
  }
  on("degrees", "input", ({ value }) => explorer.set({ degrees: Number(value) }));
  on("leak", "input", ({ value }) => explorer.set({ leak: Number(value) }));
  on("turn", "input", ({ value }) => explorer.set({ turn: Number(value) }));
  on("tilt", "input", ({ value }) => explorer.set({ tilt: Number(value) }));
  on("arrows", "change", ({ checked }) => explorer.set({ arrows: checked }));
  on("prox", "change", ({ value }) => explorer.set({ prox: value }));
  on("reset", "click", () => explorer.reset());
  for (const button of document.querySelectorAll("[data-degrees]")) {
    button.addEventListener("click", () => explorer.set({ degrees: Number(button.dataset.degrees) }));
  }
  get("prox").innerHTML = Object.keys(catalogue).map((name) => `<option>${name}</option>`).join("");

  // The coordinates of x. A number is taken when it is complete, and put back if it is none.
  get("coordinates").addEventListener("change", ({ target }) => {
    const { mode } = explorer.state;
    const value = target.value.trim() === "" ? NaN : Number(target.value);
    if (!Number.isFinite(value)) return explorer.set({});
    if (mode === "graph") return explorer.set({ number: value });
    return explorer.set({ [mode]: explorer.state[mode].map((old, i) => (target.id === `x${i + 1}` ? value : old)) });
  });

  // A slider for each parameter of the chosen prox.
  function buildParameters(name) {
    const parameters = Object.entries(catalogue[name].parameters ?? {});
    get("parameters").dataset.prox = name;
    get("parameters").innerHTML = parameters.map(([key, { min, max, step, about }]) =>
      `<label for="parameter-${key}">${key}, ${about} <span class="shown" id="shown-${key}"></span></label>` +
      `<input type="range" id="parameter-${key}" min="${min}" max="${max}" step="${step}">`).join("");
    for (const [key] of parameters) {
      on(`parameter-${key}`, "input", ({ value }) => explorer.setParameter(key, Number(value)));
    }
  }

  function slider(id, value, words, shown = words) {
    get(id).value = value;
    get(id).setAttribute("aria-valuetext", words);
    get(`shown-${id.replace("parameter-", "")}`).textContent = shown;
  }

  function update(state) {
    const { mode } = state;
    document.querySelector(`input[name=mode][value=${mode}]`).checked = true;
    for (const part of document.querySelectorAll("[data-for]")) {
      part.hidden = !part.dataset.for.split(" ").includes(mode);
    }
    get("bench").dataset.mode = mode;
    const radians = `${number(state.alpha, 3)} rad`;
    slider("degrees", state.degrees, `${state.degrees} degrees`, `${angle(state.degrees)} = ${radians}`);
    slider("leak", state.leak, number(state.leak, 2));
    slider("turn", state.turn, `${number(state.turn, 0)} degrees`, `${number(state.turn, 0)}°`);
    slider("tilt", state.tilt, `${number(state.tilt, 0)} degrees`, `${number(state.tilt, 0)}°`);
    get("arrows").checked = state.arrows;
    get("prox").value = state.prox;
    for (const button of document.querySelectorAll("[data-degrees]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.degrees) === state.degrees);
    }
    get("middle-name").textContent = mode === "plane" ? "ReLU" : "self-dual";
    if (get("parameters").dataset.prox !== state.prox) buildParameters(state.prox);
    for (const [key, value] of Object.entries(state.parameters[state.prox])) {
      slider(`parameter-${key}`, value, number(value, 2));
    }
    const x = mode === "graph" ? [state.number] : state[mode];
    [1, 2, 3].forEach((i) => {
      get(`x${i}`).hidden = i > x.length;
      if (i <= x.length) get(`x${i}`).value = x[i - 1].toFixed(2);
    });
  }

  explorer.controls = { update };
})();
