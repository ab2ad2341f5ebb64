// Drawing: shapes as SVG text, numbers as text, and labels that keep clear of each other.
(() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const SIZE = 420; // every picture is a square of this many units
  const FONT = 15;

  function element(name, attributes, parent) {
    const made = document.createElementNS(NAMESPACE, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    parent?.append(made);
    return made;
  }

  const tag = (name, attributes) =>
    `<${name} ${Object.entries(attributes).map(([key, value]) => `${key}="${value}"`).join(" ")}/>`;
  const round = (value) => Math.round(value * 100) / 100;
  const join = (points) => points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L");
  const path = (points, kind, isClosed = false) =>
    points.length > 1 ? tag("path", { d: `M${join(points)}${isClosed ? "Z" : ""}`, class: kind }) : "";
  const line = (from, to, kind) => path([from, to], kind);
  const segment = (from, to) => `M${join([from, to])}`;
  const many = (strokes, kind) => tag("path", { d: strokes.join(""), class: kind }); // one shape is drawn faster
  const dot = ([x, y], r, kind) => tag("circle", { cx: round(x), cy: round(y), r, class: kind });

  // A stroke with a head; nothing where it would be too short to see.
  function arrow([x0, y0], [x1, y1], head = 5) {
    const length = Math.hypot(x1 - x0, y1 - y0);
    if (length < head) return "";
    const [dx, dy] = [(x1 - x0) * head / length, (y1 - y0) * head / length];
    const wings = [[x1 - dx - dy * 0.6, y1 - dy + dx * 0.6], [x1, y1], [x1 - dx + dy * 0.6, y1 - dy - dx * 0.6]];
    return `M${join([[x0, y0], [x1, y1]])}M${join(wings)}`;
  }

  // A fixed number of digits with a true minus sign, and no minus before zero.
  function number(value, digits = 4) {
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const text = value.toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  }
  const vector = (values, digits = 4) => `(${values.map((value) => number(value, digits)).join(", ")})`;
  const angle = (degrees) => `${number(degrees, degrees % 1 ? 1 : 0)}°`;

  const overlap = (a, b) =>
    Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
    Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  const box = (x, y, width, height) =>
    ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 });
  const around = ([x, y], r) => box(x, y, 2 * r, 2 * r);

  const TURNS = [0, 30, -30, 60, -60, 90, -90, 120, -120, 150, -150, 180].map((degrees) => degrees * Math.PI / 180);

  // Places each label { text, at, towards, kind, away, size } beside its point: in the direction `towards` (radians,
  // counted as on paper, anticlockwise) or the nearest direction where it covers nothing placed before.
  function place(labels, obstacles, bounds = { left: 1, top: 1, right: SIZE - 1, bottom: SIZE - 1 }) {
    const taken = [...obstacles];
    return labels.map(({ text, at, towards, kind = "", away = 14, size = FONT }) => {
      const [width, height] = [text.length * size * 0.56 + 6, size * 1.15];
      let best = null;
      for (const far of [1, 1.7, 2.6]) {
        for (const turn of TURNS) {
          const [dx, dy] = [Math.cos(towards + turn), -Math.sin(towards + turn)];
          const distance = away * far + (Math.abs(dx) * width + Math.abs(dy) * height) / 2;
          const spot = box(at[0] + dx * distance, at[1] + dy * distance, width, height);
          const beyond = width * height - overlap(spot, bounds);
          const cost = taken.reduce((sum, other) => sum + overlap(spot, other), 4 * beyond);
          if (best === null || cost < best.cost - 1e-6) best = { spot, cost };
        }
      }
      taken.push(best.spot);
      const [x, y] = [(best.spot.left + best.spot.right) / 2, (best.spot.top + best.spot.bottom) / 2];
      return `<text x="${round(x)}" y="${round(y)}" class="label ${kind}" font-size="${size}">${text}</text>`;
    }).join("");
  }

  // A picture has a scene, drawn anew each time, and handles above it that keep the keyboard's focus.
  function picture(id, label) {
    const root = element("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": label });
    document.getElementById(id).querySelector(".picture").append(root);
    const scene = element("g", { "aria-hidden": "true" }, root);
    const handles = element("g", {}, root);
    return { root, handles, show: (content) => { scene.innerHTML = content; } };
  }

  // Where a pointer event is, in the units of the picture.
  function position(root, event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(root.getScreenCTM().inverse());
    return [x, y];
  }

  explorer.svg = {
    SIZE, element, path, line, many, segment, dot, arrow, number, vector, angle, around, place, picture, position,
  };
})();
