// m = 2: a disc of the plane with the cone, its polar, the arrows and the point. ReLU is drawn by the same code.
(() => {
  const { path, line, many, dot, arrow, around, place, picture, angle, SIZE } = explorer.svg;
  const RADIUS = 2.5; // of the disc that is shown
  const LIMIT = 2.1; // of the point: clear of the handle on the rim
  const UNIT = 168 / RADIUS;
  const MIDDLE = SIZE / 2;
  const AXIS = Math.PI / 4;

  const at = ([x, y]) => [MIDDLE + UNIT * x, MIDDLE - UNIT * y];
  const from = ([x, y]) => [(x - MIDDLE) / UNIT, (MIDDLE - y) / UNIT];
  const onRim = (angle, radius = RADIUS) => at([radius * Math.cos(angle), radius * Math.sin(angle)]);
  const degrees = (alpha) => alpha * 180 / Math.PI;

  function arc(middle, half, radius = RADIUS, count = 48) {
    return Array.from({ length: count + 1 }, (_, i) => onRim(middle + half * (2 * i / count - 1), radius));
  }
  const sector = (middle, half, kind) => path([at([0, 0]), ...arc(middle, half)], kind, true);

  // The regions around an axis in the direction `axis`; the section of the cone for m = 3 is drawn by it, too.
  function regions(axis, alpha) {
    const zero = at([0, 0]);
    return path(arc(0, Math.PI), "disc", true) +
      sector(axis + Math.PI, Math.PI / 2 - alpha, "polar") +
      sector(axis, alpha, "cone") +
      [-alpha, alpha].map((angle) => line(zero, onRim(axis + angle), "edge")).join("");
  }

  function grid() {
    return [-2, -1, 0, 1, 2].map((value) => {
      const end = Math.sqrt(RADIUS * RADIUS - value * value);
      const kind = value === 0 ? "axis" : "grid";
      return line(at([value, -end]), at([value, end]), kind) + line(at([-end, value]), at([end, value]), kind);
    }).join("");
  }

  // Arrows over 45 % of the way from each point to where it goes: whole ones would pile up at the apex.
  function field(map) {
    const steps = [-2.25, -1.75, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75, 2.25];
    const points = steps.flatMap((a) => steps.map((b) => [a, b])).filter((x) => Math.hypot(...x) < 2.4);
    const ends = points.map((x) => map(x).map((value, i) => x[i] + 0.45 * (value - x[i])));
    const isStill = (i) => Math.hypot(ends[i][0] - points[i][0], ends[i][1] - points[i][1]) < 1e-9;
    return many(points.map((x, i) => arrow(at(x), at(ends[i]))), "arrow") +
      points.map((x, i) => (isStill(i) ? dot(at(x), 1.8, "still") : "")).join("");
  }

  // x, y and the line between them; `obstacles` and `more` are for the labels.
  function journey(x, y, obstacles, more = []) {
    const away = Math.atan2(y[1] - x[1], y[0] - x[0]) + Math.PI; // on paper, as the picture's second axis points down
    const isSame = Math.hypot(x[0] - y[0], x[1] - y[1]) < 7;
    const turn = isSame ? -Math.PI / 4 : -away;
    const labels = isSame
      ? [{ text: "x = y", at: x, towards: turn, kind: "name" }]
      : [
        { text: "x", at: x, towards: turn, kind: "name x" },
        { text: "y", at: y, towards: turn + Math.PI, kind: "name y" },
      ];
    return line(x, y, "way") + dot(y, 6.5, "y") +
      place([...labels, ...more], [around(x, 11), around(y, 8), ...obstacles]);
  }

  const names = [
    { text: "x₁", at: onRim(0), towards: 0, away: 8 },
    { text: "x₂", at: onRim(Math.PI / 2), towards: Math.PI / 2, away: 8 },
  ];

  const main = picture("main-plane", "The plane with the cone, its polar cone and the point x");
  const beside = picture("relu-plane", "The same point under ReLU");
  const moveAngle = explorer.handles.handle(main, {
    id: "angle-handle", kind: "angle", label: "Half-apex angle, on the cone's edge", min: 0, max: 90,
    drag: (x, y) => {
      const [a, b] = from([x, y]);
      explorer.set({ degrees: degrees(Math.abs(Math.atan2(b - a, a + b))) }); // the angle to (1, 1)
    },
    key: (name, isFine) => explorer.slideAngle(name, isFine),
  });
  const movePoint = explorer.handles.handle(main, {
    id: "point-handle", kind: "x", min: -LIMIT, max: LIMIT,
    label: "Point x. Arrow keys move it, Shift makes small steps",
    drag: (x, y) => explorer.set({ plane: from([x, y]) }),
    key: (name, isFine) => {
      const step = explorer.handles.step(name, isFine);
      explorer.set({ plane: explorer.state.plane.map((value, i) => value + step[i]) });
    },
  });
  for (const { root } of [main, beside]) {
    root.addEventListener("click", (event) => {
      if (!event.target.closest(".handle")) explorer.set({ plane: from(explorer.svg.position(root, event)) });
    });
  }

  function draw(state) {
    const { plane: x, alpha, leak } = state;
    const { project, relu } = explorer.cone;
    const y = project(x, alpha, leak);
    const corner = onRim(AXIS + alpha);
    const shown = regions(AXIS, alpha) + grid() + line(at([0, 0]), onRim(AXIS), "middle") +
      path(arc(AXIS + alpha / 2, alpha / 2, RADIUS + 0.12), "measure") +
      (state.arrows ? field((point) => project(point, alpha, leak)) : "");
    main.show(shown + journey(at(x), at(y), [around(corner, 13)], [
      { text: `α = ${angle(state.degrees)}`, at: corner, towards: AXIS + alpha, kind: "name alpha" },
      ...names,
      { text: "axis", at: onRim(AXIS), towards: AXIS, away: 10, kind: "quiet" },
    ]));
    moveAngle(corner, state.degrees, `${state.degrees} degrees`);
    movePoint(at(x), x[0], `x is ${explorer.svg.vector(x, 2)}, y is ${explorer.svg.vector(y)}`);
    beside.show(regions(AXIS, Math.PI / 4) + grid() + (state.arrows ? field(relu) : "") +
      journey(at(x), at(relu(x)), [], names) + dot(at(x), 8, "x"));
  }

  explorer.plane = { draw, at, regions, arc, onRim, journey, UNIT, MIDDLE, RADIUS, LIMIT };
})();
