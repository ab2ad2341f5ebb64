// What can be dragged: by mouse and touch (pointer events) or, once it has the focus, by keys. To a screen reader it is
// a slider that says its value in words.
(() => {
  const { element, position } = explorer.svg;
  const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"];
  const REACH = 26; // a finger is wider than the dot

  // grab() is called when a pointer takes it; drag(x, y) gets the new place in the units of the picture; key(name, isFine)
  // the key, fine with Shift.
  function handle(picture, { id, kind, label, min, max, grab = () => {}, drag, key }) {
    const group = element("g", {
      id, class: `handle ${kind}`, tabindex: 0, role: "slider",
      "aria-label": label, "aria-valuemin": min, "aria-valuemax": max,
    }, picture.handles);
    element("circle", { r: REACH, class: "reach" }, group);
    element("circle", { r: 13, class: "ring" }, group);
    element("circle", { r: 8, class: "knob" }, group);

    let [place, grip] = [[0, 0], [0, 0]]; // where the handle is, and from where on it the pointer holds it
    group.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      grab();
      grip = position(picture.root, event).map((value, i) => value - place[i]);
      event.preventDefault();
      event.stopPropagation();
      group.focus({ preventScroll: true });
      group.setPointerCapture(event.pointerId);
    });
    group.addEventListener("pointermove", (event) => {
      if (!group.hasPointerCapture(event.pointerId)) return;
      drag(...position(picture.root, event).map((value, i) => value - grip[i]));
    });
    group.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // no scrolling
    group.addEventListener("keydown", (event) => {
      if (!KEYS.includes(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      key(event.key, event.shiftKey);
    });

    return ([x, y], value, words) => {
      place = [x, y];
      group.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      group.setAttribute("aria-valuenow", value);
      group.setAttribute("aria-valuetext", words);
    };
  }

  // The step of a key along (x1, x2, x3): arrows for the first two, page keys for the third.
  function step(name, isFine) {
    const size = isFine ? 0.01 : 0.1;
    return {
      ArrowLeft: [-size, 0, 0], ArrowRight: [size, 0, 0], ArrowDown: [0, -size, 0], ArrowUp: [0, size, 0],
      PageDown: [0, 0, -size], PageUp: [0, 0, size],
    }[name] ?? [0, 0, 0];
  }

  // The new value of a slider between min and max.
  function slide(value, name, isFine, { min, max, step: unit, page }) {
    if (name === "Home") return min;
    if (name === "End") return max;
    const small = isFine ? unit : 2 * unit;
    const change = {
      ArrowLeft: -small, ArrowDown: -small, ArrowRight: small, ArrowUp: small, PageDown: -page, PageUp: page,
    }[name];
    return Math.min(max, Math.max(min, value + change));
  }

  explorer.handles = { handle, step, slide };
})();
