// m = 3: a ball of space, seen from a direction that can be turned, and the plane through the axis and x.
(() => {
  const { path, line, many, segment, dot, arrow, around, picture, angle } = explorer.svg;
  const { UNIT, MIDDLE, RADIUS, LIMIT, journey, regions, at: onPlane, onRim } = explorer.plane;
  const ROUND = Array.from({ length: 73 }, (_, i) => i * Math.PI / 36);
  const E = [1, 1, 1].map((value) => value / Math.sqrt(3));

  const dot3 = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const times = (a, size) => a.map((value) => value * size);
  const plus = (...all) => [0, 1, 2].map((i) => all.reduce((sum, a) => sum + a[i], 0));
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => times(a, 1 / Math.hypot(...a));

  // The camera's right, up and towards the eye, x3 upright.
  function camera(turn, tilt) {
    const [az, el] = [turn * Math.PI / 180, tilt * Math.PI / 180];
    const [ca, sa, ce, se] = [Math.cos(az), Math.sin(az), Math.cos(el), Math.sin(el)];
    const [right, up, eye] = [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
    const at = (p) => [MIDDLE + UNIT * dot3(p, right), MIDDLE - UNIT * dot3(p, up)];
    const outline = ROUND.map((a) => plus(times(right, RADIUS * Math.cos(a)), times(up, RADIUS * Math.sin(a))));
    return { right, up, eye, at, outline };
  }

  // The outline of a set of points of the picture.
  function hull(points) {
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const half = (list) => list.reduce((chain, p) => {
      const turns = ([a, b]) => (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) <= 1e-9;
      while (chain.length > 1 && turns(chain.slice(-2))) chain.pop();
      return [...chain, p];
    }, []);
    return [...half(sorted).slice(0, -1), ...half(sorted.reverse()).slice(0, -1)];
  }

  // A convex cone cut by the ball: its outline, its rim (dashed where it is behind) and lines from the apex.
  function solid(view, rim, contains, kind) {
    const body = hull([[0, 0, 0], ...rim, ...view.outline.filter(contains)].map(view.at));
    const ribs = rim.filter((_, i) => i % 6 === 0).map((p) => segment(view.at([0, 0, 0]), view.at(p)));
    const [front, back] = [[], []];
    rim.slice(1).forEach((p, i) => (dot3(p, view.eye) < 0 ? back : front).push(segment(view.at(rim[i]), view.at(p))));
    return path(body, kind, true) + path(body, "edge thin", true) +
      many(ribs, "rib") + many(back, "rim behind") + many(front, "rim");
  }

  // An orthonormal pair across the axis.
  const [V, W] = [unit([1, -1, 0]), cross(E, unit([1, -1, 0]))];

  function roundCone(view, axis, alpha, kind) {
    const rim = ROUND.map((a) => times(plus(
      times(axis, Math.cos(alpha)), times(V, Math.sin(alpha) * Math.cos(a)), times(W, Math.sin(alpha) * Math.sin(a)),
    ), RADIUS));
    return solid(view, rim, (p) => dot3(p, axis) >= RADIUS * Math.cos(alpha) - 1e-9, kind);
  }

  function orthant(view, sign, kind) {
    const quarter = ROUND.slice(0, 18);
    const rim = [[0, 1, 2], [1, 2, 0], [2, 0, 1]].flatMap(([i, j]) => quarter.map((a) => {
      const p = [0, 0, 0];
      [p[i], p[j]] = [sign * RADIUS * Math.cos(a), sign * RADIUS * Math.sin(a)];
      return p;
    }));
    return solid(view, [...rim, rim[0]], (p) => p.every((value) => value * sign >= -1e-9), kind);
  }

  // The polar and the cone, whichever is nearer to the eye last.
  const inOrder = (view, cone, polar) => (dot3(E, view.eye) >= 0 ? polar + cone : cone + polar);

  function axes(view) {
    return [0, 1, 2].map((i) => {
      const end = [0, 0, 0];
      end[i] = RADIUS;
      return line(view.at([0, 0, 0]), view.at(times(end, -1)), "axis behind") +
        many([arrow(view.at([0, 0, 0]), view.at(end), 7)], "axis");
    }).join("");
  }

  // Points spread evenly over a sphere, on a spiral.
  const SPREAD = Array.from({ length: 60 }, (_, i) => {
    const [z, a] = [1 - (2 * i + 1) / 60, i * Math.PI * (3 - Math.sqrt(5))];
    return times([Math.sqrt(1 - z * z) * Math.cos(a), Math.sqrt(1 - z * z) * Math.sin(a), z], 2.1);
  });
  function field(view, map) {
    const [near, far, still] = [[], [], []];
    for (const x of SPREAD) {
      const change = plus(map(x), times(x, -1));
      const isFar = dot3(x, view.eye) < 0;
      if (Math.hypot(...change) < 1e-9) still.push(dot(view.at(x), 1.8, isFar ? "still far" : "still"));
      else (isFar ? far : near).push(arrow(view.at(x), view.at(plus(x, times(change, 0.45)))));
    }
    return many(far, "arrow far") + many(near, "arrow") + still.join("");
  }

  function names(view) {
    return [0, 1, 2].map((i) => {
      const end = [0, 0, 0];
      end[i] = RADIUS;
      const [x, y] = view.at(end);
      const towards = Math.atan2(MIDDLE - y, x - MIDDLE);
      return { text: `x${"₁₂₃"[i]}`, at: [x, y], towards, away: 8 };
    });
  }

  const main = picture("main-space", "Space with the cone, its polar cone and the point x; drag beside them to turn");
  const beside = picture("relu-space", "The same point under ReLU");
  const cut = picture("section", "The plane through the axis and x");
  const across = (view) => (Math.abs(dot3(E, view.eye)) > 0.999 ? view.right : unit(cross(E, view.eye)));

  const moveAngle = explorer.handles.handle(main, {
    id: "angle-handle-3", kind: "angle", label: "Half-apex angle, on the cone's rim", min: 0, max: 90,
    drag: (px, py) => {
      const view = camera(explorer.state.turn, explorer.state.tilt);
      const side = across(view);
      const point = plus(times(view.right, (px - MIDDLE) / UNIT), times(view.up, (MIDDLE - py) / UNIT));
      const flat = plus(E, times(view.eye, -dot3(E, view.eye))); // the axis as the picture shows it
      const far = Math.abs(dot3(point, side)); // to either side of the axis
      const length = Math.hypot(...flat);
      const along = dot3(point, flat) / length ** 2;
      const alpha = length > 0.2 ? Math.atan2(far, along) : Math.asin(Math.min(1, far / RADIUS));
      explorer.set({ degrees: alpha * 180 / Math.PI });
    },
    key: (name, isFine) => explorer.slideAngle(name, isFine),
  });
  let depth = 0; // of the point, towards the eye; kept while it is dragged
  const movePoint = explorer.handles.handle(main, {
    id: "point-handle-3", kind: "x", min: -LIMIT, max: LIMIT,
    label: "Point x. Arrow keys move it along x1 and x2, Page Up and Page Down along x3, Shift makes small steps",
    grab: () => { depth = dot3(explorer.state.space, camera(explorer.state.turn, explorer.state.tilt).eye); },
    drag: (px, py) => {
      const { right, up, eye } = camera(explorer.state.turn, explorer.state.tilt);
      explorer.set({ space: plus(times(right, (px - MIDDLE) / UNIT), times(up, (MIDDLE - py) / UNIT), times(eye, depth)) });
    },
    key: (name, isFine) => explorer.set({ space: plus(explorer.state.space, explorer.handles.step(name, isFine)) }),
  });

  // Dragging beside the handles turns. On a screen that is touched, a stroke that starts upright scrolls the page.
  for (const { root } of [main, beside]) {
    root.classList.add("turns");
    let start = null;
    root.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      root.setPointerCapture(event.pointerId);
      start = { x: event.clientX, y: event.clientY, turn: explorer.state.turn, tilt: explorer.state.tilt };
    });
    root.addEventListener("pointermove", (event) => {
      if (!root.hasPointerCapture(event.pointerId)) return;
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      explorer.set({ turn: start.turn - dx / 2, tilt: start.tilt + dy / 2 }); // half a degree for each pixel
    });
  }

  function drawSection(state, y) {
    const { t, n } = explorer.cone.parts(state.space, state.alpha);
    const end = explorer.cone.parts(y, state.alpha);
    const [x, moved, foot] = [[n, t], [end.n, end.t], [0, t]].map(onPlane);
    const zero = onPlane([0, 0]);
    const up = Math.PI / 2;
    cut.show(regions(up, state.alpha) + line(zero, onRim(up), "middle") + path([zero, foot, x], "part") +
      journey(x, moved, [], [
        { text: "t", at: [(zero[0] + foot[0]) / 2, (zero[1] + foot[1]) / 2], towards: Math.PI, away: 3, kind: "quiet" },
        { text: "n", at: [(foot[0] + x[0]) / 2, foot[1]], towards: t >= 0 ? up : -up, away: 3, kind: "quiet" },
        { text: "axis", at: onRim(up), towards: up, away: 6, kind: "quiet" },
      ]) + dot(x, 8, "x"));
  }

  function draw(state) {
    const { space: x, alpha, leak } = state;
    const { project, relu } = explorer.cone;
    const view = camera(state.turn, state.tilt);
    const y = project(x, alpha, leak);
    const corner = view.at(times(plus(times(E, Math.cos(alpha)), times(across(view), Math.sin(alpha))), RADIUS));
    const tip = view.at(times(E, RADIUS));
    const ball = path(view.outline.map(view.at), "disc", true);
    const towards = ([px, py]) => Math.atan2(MIDDLE - py, px - MIDDLE);
    const draws = (cones, map) => ball + axes(view) + cones + (state.arrows ? field(view, map) : "");
    const cone = roundCone(view, E, alpha, "cone");
    const polar = roundCone(view, times(E, -1), Math.PI / 2 - alpha, "polar");
    main.show(draws(inOrder(view, cone, polar), (point) => project(point, alpha, leak)) +
      line(view.at([0, 0, 0]), tip, "middle") + line(view.at(x), view.at(times(E, dot3(x, E))), "part") +
      journey(view.at(x), view.at(y), [around(corner, 13)], [
        { text: `α = ${angle(state.degrees)}`, at: corner, towards: towards(corner), kind: "name alpha" },
        ...names(view),
        { text: "axis", at: tip, towards: towards(tip), away: 10, kind: "quiet" },
      ]));
    moveAngle(corner, state.degrees, `${state.degrees} degrees`);
    movePoint(view.at(x), x[0], `x is ${explorer.svg.vector(x, 2)}, y is ${explorer.svg.vector(y)}`);
    beside.show(draws(inOrder(view, orthant(view, 1, "cone"), orthant(view, -1, "polar")), relu) +
      journey(view.at(x), view.at(relu(x)), [], names(view)) + dot(view.at(x), 8, "x"));
    drawSection(state, y);
  }

  explorer.space = { draw, camera };
})();
