// The numbers beside the pictures, and what is said of them in words.
(() => {
  const { number, vector } = explorer.svg;
  const { cone, scalar } = explorer;
  const show = (id, text) => { document.getElementById(id).textContent = text; };
  const percent = (share) => `${number(100 * share, share > 0 && share < 0.01 ? 1 : 0)} %`;

  // Rows of name, value and an id.
  function list(rows) {
    document.getElementById("value-list").innerHTML =
      rows.map(([name, id, value]) => `<div><dt>${name}</dt><dd id="value-${id}">${value}</dd></div>`).join("");
  }

  function matrix(id, rows) {
    const cells = (row) => row.map((value) => `<td>${number(value, Number.isInteger(value) ? 0 : 3)}</td>`).join("");
    document.querySelector(`#${id} tbody`).innerHTML = rows.map((row) => `<tr>${cells(row)}</tr>`).join("");
  }

  function aboutAngle({ mode, degrees, leak }) {
    const named = {
      0: "The cone is a ray. Only the mean of x is kept, and only if it is above 0.",
      45: mode === "plane"
        ? "This is exactly ReLU: the cone is the quarter with both numbers positive."
        : "The cone and its polar have the same shape. The cone is round, ReLU's has three flat sides.",
      90: "The cone is a half-space. Points with a mean above 0 stay; the others lose their mean.",
    };
    const other = degrees < 45
      ? "A narrow cone: fewer points stay than go to 0."
      : "A wide cone: more points stay than go to 0.";
    return (named[degrees] ?? other) + (leak > 0 ? ` Then ${percent(leak)} of x is mixed back in.` : "");
  }

  function aboutRegion(where, x, leak) {
    if (x.every((value) => value === 0)) return "x is the apex. It stays.";
    const said = {
      cone: "x is in the cone. It stays.",
      border: "x is on the border of the cone. It stays.",
      polar: "x is in the polar cone. It goes to 0.",
      rest: "x is in neither cone. It moves straight to the nearest edge.",
    }[where];
    return leak > 0 && where !== "cone" && where !== "border" ? `${said} The leak takes y part of the way back.` : said;
  }

  function ofCone(state) {
    const { mode, alpha, leak } = state;
    const x = state[mode];
    const y = cone.project(x, alpha, leak);
    const relu = cone.relu(x);
    const { t, n } = cone.parts(x, alpha);
    const where = cone.region(x, alpha);
    const shares = cone.shares(x.length, alpha);
    const region = aboutRegion(where, x, leak);
    show("about", aboutAngle(state));
    ["cone", "polar", "rest"].forEach((name) => show(`share-${name}`, percent(shares[name])));
    show("region", region);
    document.getElementById("region").dataset.region = where === "border" ? "cone" : where;
    list([
      ["y", "y", vector(y)],
      ["ReLU(x)", "relu", vector(relu)],
      ["distance |x − y|", "distance", number(Math.hypot(...x.map((value, i) => value - y[i])))],
      ["t, along the axis", "t", number(t)],
      ["n, away from it", "n", number(n)],
      ["dy/dα", "dalpha", vector(cone.byAlpha(x, alpha, leak))],
    ]);
    matrix("jacobian", cone.jacobian(x, alpha, leak));
    matrix("relu-jacobian", cone.reluJacobian(x));
    const result = `y is ${vector(y)}. ReLU gives ${vector(relu)}.`;
    return `x is ${vector(x, 2)}. ${region} ${result} The angle is ${state.degrees} degrees.`;
  }

  function ofScalar(state) {
    const { prox: name, number: x } = state;
    const parameters = state.parameters[name];
    const y = scalar.prox(name, x, parameters);
    const phi = scalar.penalty(name, y, parameters);
    const M = scalar.envelope(name, x, parameters);
    show("formula", `P(x) = ${scalar.catalogue[name].f}`);
    document.getElementById("hatched").hidden = !scalar.catalogue[name].domain(parameters).some(Number.isFinite);
    show("penalty-formula", `φ(y) = ${scalar.catalogue[name].phi}`);
    list([
      ["y = P(x)", "y", number(y)],
      ["ReLU(x)", "relu", number(Math.max(0, x))],
      ["slope dy/dx", "slope", number(scalar.slope(name, x, parameters))],
      ["penalty φ(y)", "penalty", number(phi)],
      ["way (x − y)²/2", "way", number((x - y) ** 2 / 2)],
      ["envelope M(x), the sum", "envelope", number(M)],
      ["slope of M, x − y", "lean", number(x - y)],
    ]);
    return `x is ${number(x, 2)}. y is ${number(y)}. Penalty ${number(phi)}. Envelope ${number(M)}.`;
  }

  let timer = 0;
  // A screen reader hears the new values when the hand rests, not on every step.
  function announce(text) {
    clearTimeout(timer);
    timer = setTimeout(() => show("live", text), 400);
  }

  explorer.values = { update: (state) => announce(state.mode === "graph" ? ofScalar(state) : ofCone(state)) };
})();
