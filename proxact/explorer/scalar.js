// Functions of one number that are proxes: y = argmin_y phi(y) + (y - x)^2 / 2. Same formulas as proxact.prox.
(() => {
  const { PI, abs, exp, expm1, log, log1p, max, min, sqrt, tanh } = Math;
  const LN2 = Math.LN2;
  const below = (y) => min(y, 0);
  const xlogy = (x, y) => (x === 0 ? 0 : x * log(y));
  const xlog1py = (x, y) => (x === 0 ? 0 : x * log1p(y));
  const logistic = (x) => 1 / (1 + exp(-x));
  const softplus = (x) => max(x, 0) + log1p(exp(-abs(x)));
  const isRoot = (x) => x / Math.hypot(1, x);
  const entropy = (y, a) => xlog1py(y + a, y / a) - y; // for y in [-a, 0]
  const clip = (x, low, high) => min(max(x, low), high);
  const between = (x, low, high) => (x > low && x < high ? 1 : 0);
  const rootPenalty = (y) => -y * y / 2 - sqrt((1 - y) * (1 + y));
  const zero = () => 0;

  const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]; // B_2, B_4, ..., B_16

  // Li2(e^-y) for y >= 0 by Debye's series in u <= ln 2, reflected from z to 1 - z near y = 0.
  function dilogarithmOfExp(y) {
    const isNear = y < LN2;
    const u = isNear ? y : -log1p(-exp(-y));
    let power = u;
    let factorial = 1;
    let series = u - u * u / 4;
    BERNOULLI.forEach((number, i) => {
      power *= u * u;
      factorial *= (2 * i + 2) * (2 * i + 3);
      series += number * power / factorial;
    });
    return isNear ? PI * PI / 6 + xlogy(y, -expm1(-y)) - series : series;
  }

  // The conjugate of the penalty of tanh: t - tanh t = |y| by Newton's steps from below.
  function tanhshrinkPenalty(y) {
    let t = Math.cbrt(3 * abs(y));
    for (let i = 0; i < 12; i += 1) {
      const z = tanh(t);
      t -= (t - z - abs(y)) / (z > 0 ? z * z : 1);
    }
    return t + softplus(-2 * t) - LN2 - tanh(t) ** 2 / 2;
  }

  function gemanMcClurePenalty(y, mu) {
    const size = abs(y);
    const rest = max(mu - size, 0);
    return mu * Math.atan2(sqrt(size), sqrt(rest)) - sqrt(size * rest) - size * size / 2;
  }

  const everywhere = () => [-Infinity, Infinity];
  const fixed = (low, high) => () => [low, high];
  const slider = (value, min, max, step, about) => ({ value, min, max, step, about });

  // prox, slope and penalty take a number and the parameters; domain gives the ends of the penalty's domain.
  // f and phi are for reading; view is the interval that the graphs show, [-4, 4] unless said.
  const catalogue = {
    relu: {
      f: "max(0, x)", phi: "0 for y ≥ 0", domain: fixed(0, Infinity),
      prox: (x) => max(x, 0), slope: (x) => between(x, 0, Infinity), penalty: zero,
    },
    clip: {
      f: "x clipped to [low, high]", phi: "0 on [low, high]", domain: ({ low, high }) => [low, high],
      parameters: { low: slider(0, -3, 3, 0.1, "lower end"), high: slider(1, -3, 3, 0.1, "upper end") },
      prox: (x, { low, high }) => clip(x, low, high), slope: (x, { low, high }) => between(x, low, high), penalty: zero,
    },
    relu6: {
      f: "x clipped to [0, 6]", phi: "0 on [0, 6]", domain: fixed(0, 6), view: [-3, 9],
      prox: (x) => clip(x, 0, 6), slope: (x) => between(x, 0, 6), penalty: zero,
    },
    hardtanh: {
      f: "x clipped to [−1, 1]", phi: "0 on [−1, 1]", domain: fixed(-1, 1),
      prox: (x) => clip(x, -1, 1), slope: (x) => between(x, -1, 1), penalty: zero,
    },
    hardsigmoid: {
      f: "(x + 3)/6 clipped to [0, 1]", phi: "5y²/2 − 3y on [0, 1]", domain: fixed(0, 1), view: [-5, 5],
      prox: (x) => clip(x + 3, 0, 6) / 6, slope: (x) => between(x + 3, 0, 6) / 6, penalty: (y) => 5 / 2 * y * y - 3 * y,
    },
    leaky_relu: {
      f: "x for x > 0, else a x", phi: "(1/a − 1) y²/2 for y ≤ 0, else 0", domain: everywhere,
      parameters: { a: slider(0.01, 0.01, 1, 0.01, "slope below 0") },
      prox: (x, { a }) => (x > 0 ? x : a * x), slope: (x, { a }) => (x > 0 ? 1 : a),
      penalty: (y, { a }) => (1 / a - 1) * below(y) ** 2 / 2,
    },
    soft_threshold: {
      f: "x moved towards 0 by λ", phi: "λ |y|", domain: everywhere,
      parameters: { lam: slider(0.5, 0, 3, 0.05, "threshold λ") },
      prox: (x, { lam }) => max(x - lam, 0) - max(-x - lam, 0), slope: (x, { lam }) => (abs(x) > lam ? 1 : 0),
      penalty: (y, { lam }) => lam * abs(y),
    },
    sigmoid: {
      f: "1/(1 + e⁻ˣ)", phi: "y ln y + (1 − y) ln(1 − y) − y²/2 on [0, 1]", domain: fixed(0, 1),
      prox: logistic, slope: (x) => logistic(x) * logistic(-x),
      penalty: (y) => xlogy(y, y) + xlog1py(1 - y, -y) - y * y / 2,
    },
    tanh: {
      f: "tanh x", phi: "y artanh y + ln(1 − y²)/2 − y²/2 on [−1, 1]", domain: fixed(-1, 1),
      prox: tanh, slope: (x) => 1 - tanh(x) ** 2,
      penalty: (y) => (xlog1py(1 + y, y) + xlog1py(1 - y, -y)) / 2 - y * y / 2,
    },
    tanhshrink: {
      f: "x − tanh x", phi: "ln cosh t − tanh²t/2, with t − tanh t = |y|", domain: everywhere,
      prox: (x) => x - tanh(x), slope: (x) => tanh(x) ** 2, penalty: tanhshrinkPenalty,
    },
    atan: {
      f: "(2/π) arctan(c x)", phi: "−2/(πc) ln cos(πy/2) − y²/2 on (−1, 1)", domain: fixed(-1, 1),
      parameters: { c: slider(1, 0.1, 1.57, 0.01, "scale") },
      prox: (x, { c }) => 2 / PI * Math.atan(c * x), slope: (x, { c }) => 2 * c / PI / (1 + (c * x) ** 2),
      penalty: (y, { c }) => -2 / (PI * c) * log(Math.sin(PI / 2 * (1 - abs(y)))) - y * y / 2,
    },
    softsign: {
      f: "x/(1 + |x|)", phi: "−|y| − ln(1 − |y|) − y²/2 on (−1, 1)", domain: fixed(-1, 1),
      prox: (x) => x / (1 + abs(x)), slope: (x) => 1 / (1 + abs(x)) ** 2,
      penalty: (y) => -abs(y) - log1p(-abs(y)) - y * y / 2,
    },
    isru: {
      f: "x/√(1 + x²)", phi: "−y²/2 − √(1 − y²) on [−1, 1]", domain: fixed(-1, 1),
      prox: isRoot, slope: (x) => Math.hypot(1, x) ** -3, penalty: rootPenalty,
    },
    isrlu: {
      f: "x for x ≥ 0, else x/√(1 + x²)", phi: "1 − y²/2 − √(1 − y²) for −1 ≤ y ≤ 0, 0 above",
      domain: fixed(-1, Infinity), prox: (x) => (x < 0 ? isRoot(x) : x),
      slope: (x) => (x < 0 ? Math.hypot(1, x) ** -3 : 1), penalty: (y) => 1 + rootPenalty(below(y)),
    },
    bent_identity: {
      f: "(x + √(x² + 1) − 1)/2", phi: "y/2 − ln(y + 1/2)/4 for y > −1/2", domain: fixed(-0.5, Infinity),
      prox: (x) => (x > 0 ? (x + Math.hypot(x, 1) - 1) / 2 : 1 / 2 / (Math.hypot(x, 1) - x) - 1 / 2),
      slope: (x) => (1 + isRoot(x)) / 2, penalty: (y) => y / 2 - log(y + 1 / 2) / 4,
    },
    geman_mcclure: {
      f: "μ sgn(x) x²/(1 + x²)", phi: "μ arctan√(|y|/(μ − |y|)) − √(|y|(μ − |y|)) − y²/2 on [−μ, μ]",
      domain: ({ mu }) => [-mu, mu],
      parameters: { mu: slider(8 / sqrt(27), 0.1, 8 / sqrt(27), "any", "limit μ") },
      prox: (x, { mu }) => mu * isRoot(x) * abs(isRoot(x)), penalty: (y, { mu }) => gemanMcClurePenalty(y, mu),
      slope: (x, { mu }) => 2 * mu * abs(isRoot(x)) * Math.hypot(1, x) ** -3,
    },
    asinh: {
      f: "arsinh x", phi: "cosh y − y²/2", domain: everywhere,
      prox: Math.asinh, slope: (x) => 1 / Math.hypot(1, x), penalty: (y) => Math.cosh(y) - y * y / 2,
    },
    symlog: {
      f: "sgn(x) ln(1 + |x|)", phi: "e^|y| − |y| − 1 − y²/2", domain: everywhere,
      prox: (x) => Math.sign(x) * log1p(abs(x)), slope: (x) => 1 / (1 + abs(x)),
      penalty: (y) => expm1(abs(y)) - abs(y) - y * y / 2,
    },
    elu: {
      f: "x for x ≥ 0, else a(eˣ − 1)", phi: "(y + a) ln((y + a)/a) − y − y²/2 for −a ≤ y ≤ 0, 0 above",
      domain: ({ a }) => [-a, Infinity], parameters: { a: slider(1, 0.05, 1, 0.05, "minus the lower limit") },
      prox: (x, { a }) => (x > 0 ? x : a * expm1(x)), slope: (x, { a }) => (x > 0 ? 1 : a * exp(x)),
      penalty: (y, { a }) => entropy(below(y), a) - below(y) ** 2 / 2,
    },
    celu: {
      f: "x for x ≥ 0, else a(e^(x/a) − 1)", phi: "a((y + a) ln(1 + y/a) − y) − y²/2 for −a ≤ y ≤ 0, 0 above",
      domain: ({ a }) => [-a, Infinity], parameters: { a: slider(1, 0.1, 4, 0.1, "minus the lower limit") },
      prox: (x, { a }) => (x > 0 ? x : a * expm1(x / a)), slope: (x, { a }) => (x > 0 ? 1 : exp(x / a)),
      penalty: (y, { a }) => a * entropy(below(y), a) - below(y) ** 2 / 2,
    },
    softplus: {
      f: "ln(1 + eˣ)", phi: "Li₂(e⁻ʸ) for y ≥ 0", domain: fixed(0, Infinity),
      prox: softplus, slope: logistic, penalty: dilogarithmOfExp,
    },
    logsigmoid: {
      f: "−ln(1 + e⁻ˣ)", phi: "Li₂(eʸ) for y ≤ 0", domain: fixed(-Infinity, 0),
      prox: (x) => -softplus(-x), slope: (x) => logistic(-x), penalty: (y) => dilogarithmOfExp(-y),
    },
  };

  const defaults = (name) =>
    Object.fromEntries(Object.entries(catalogue[name].parameters ?? {}).map(([key, { value }]) => [key, value]));
  const prox = (name, x, parameters = defaults(name)) => catalogue[name].prox(x, parameters);
  const slope = (name, x, parameters = defaults(name)) => catalogue[name].slope(x, parameters);

  // Infinite outside the domain; what the function returns may lie outside by a rounding.
  function penalty(name, y, parameters = defaults(name)) {
    const [low, high] = catalogue[name].domain(parameters);
    const inside = clip(y, low, high);
    const isOutside = abs(y - inside) > Number.EPSILON * (1 + abs(inside));
    return isOutside ? Infinity : catalogue[name].penalty(inside, parameters);
  }

  // The Moreau envelope: the least value of phi(y) + (y - x)^2 / 2, which is taken at y = prox(x).
  function envelope(name, x, parameters = defaults(name)) {
    const y = prox(name, x, parameters);
    return penalty(name, y, parameters) + (x - y) ** 2 / 2;
  }

  explorer.scalar = { catalogue, defaults, prox, slope, penalty, envelope };
})();
