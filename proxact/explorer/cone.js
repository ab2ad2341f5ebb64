// The projection onto the cone of half-apex angle alpha (radians) around (1, ..., 1), for any m = x.length.
// Same formulas as proxact.project.cone. A leak mixes x back in: (1 - leak) P(x) + leak x.
(() => {
  // Rounding must not decide on which side of a border a point lies: a point this near counts as on it.
  const ROUNDING = 8 * Number.EPSILON;

  // t and h are the parts of x along and across the unit axis e; n is the length of h.
  function parts(x, alpha) {
    const m = x.length;
    const mean = x.reduce((sum, value) => sum + value, 0) / m;
    const t = mean * Math.sqrt(m);
    const h = x.map((value) => value - mean);
    const n = Math.hypot(...h);
    const cos = Math.cos(alpha);
    const sin = Math.sin(alpha);
    const e = 1 / Math.sqrt(m);
    // On the axis no edge is the nearest: the lower one for m = 2, none for m > 2, as in Python.
    const side = h.map((value, i) => (n > 0 ? value / n : m === 2 ? [e, -e][i] : 0));
    return {
      t, h, n, sin, e, side,
      u: side.map((value) => cos * e + sin * value), // along the edge nearest to x
      v: side.map((value) => -sin * e + cos * value), // across it, outwards
      p: t * cos + n * sin, // <x, u>
      q: n * cos - t * sin, // <x, v>: below 0 inside
      tiny: ROUNDING * Math.hypot(t, n),
    };
  }

  // "cone", "border" of the cone, "polar" or "rest".
  function region(x, alpha) {
    const { p, q, tiny } = parts(x, alpha);
    if (q < -tiny) return "cone";
    if (p <= tiny) return "polar";
    return q <= tiny ? "border" : "rest";
  }

  function project(x, alpha, leak = 0) {
    const { u, p } = parts(x, alpha);
    const where = region(x, alpha);
    const y = where === "cone" ? x : u.map((value) => (where === "polar" ? 0 : p * value));
    return y.map((value, i) => (1 - leak) * value + leak * x[i]);
  }

  // dy/dx as rows. On a border it is that of the outer side, and 0 at the apex, as torch.relu has it at 0.
  function jacobian(x, alpha, leak = 0) {
    const { n, sin, e, side, u, p } = parts(x, alpha);
    const where = region(x, alpha);
    const entry = (i, j) => {
      const same = i === j ? 1 : 0;
      if (where === "cone") return same;
      if (where === "polar") return 0;
      const around = n > 0 && x.length > 2 ? (p * sin / n) * (same - e * e - side[i] * side[j]) : 0;
      return u[i] * u[j] + around;
    };
    return x.map((_, i) => x.map((_, j) => (1 - leak) * entry(i, j) + (i === j ? leak : 0)));
  }

  // dy/dalpha: how y moves when the cone opens.
  function byAlpha(x, alpha, leak = 0) {
    const { u, v, p, q } = parts(x, alpha);
    const moves = ["rest", "border"].includes(region(x, alpha));
    return u.map((value, i) => (moves ? (1 - leak) * (q * value + p * v[i]) : 0));
  }

  // The shares of all directions that lie in the cone, in its polar and in the rest, for m = 2 and 3.
  function shares(m, alpha) {
    const share = (angle) => (m === 2 ? angle / Math.PI : (1 - Math.cos(angle)) / 2);
    const cone = share(alpha);
    const polar = share(Math.PI / 2 - alpha);
    return { cone, polar, rest: 1 - cone - polar };
  }

  const relu = (x) => x.map((value) => Math.max(0, value));
  const reluJacobian = (x) => x.map((value, i) => x.map((_, j) => (i === j && value > 0 ? 1 : 0)));

  window.explorer = { cone: { parts, region, project, jacobian, byAlpha, shares, relu, reluJacobian } };
})();
