// Mouse, pen and fingers on the board: aim, play, pinch. Knows points, nothing of stones.

const PLAYED_DIRECTLY = 28; // cells of so many pixels are hit by a finger (derived: WCAG 2.2 asks for 24)
const WHEEL_STEP = 0.002; // of a zoom, for a pixel of the wheel

export class Gestures {
  // view: {svg, pointAt(x, y), cellPx, zoomBy(factor, from, to), box}
  // on: {point(point), hover(point or null), aim(point or null), free(point), armed(point)}
  constructor(view, on) {
    this.view = view;
    this.on = on;
    this.confirm = "small"; // a second tap plays: on "small" cells, "always", "never"
    this.fingers = new Map(); // pointer id -> [x, y, whether it began on the board]
    this.pressed = null; // {id, point, slid} of the one pointer that may play
    this.spoiled = false; // more than one finger was down; until all are lifted nothing plays
    this.armed = null; // the point that a second tap plays
    const { svg } = view;
    document.addEventListener("pointerdown", (event) => this.count(event), true);
    for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, (event) => this.lift(event));
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    svg.addEventListener("pointerup", (event) => this.release(event));
    svg.addEventListener("pointercancel", () => this.cancel());
    svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.cancel();
      this.on.hover(null);
    });
    svg.addEventListener("contextmenu", (event) => { if (this.fingers.size) event.preventDefault(); }); // a long press aims
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  // Fingers count wherever they are: a hand that holds the phone is one too.
  count(event) {
    if (event.pointerType === "mouse") return;
    if (event.isPrimary) this.fingers.clear(); // an end that never came
    const inside = this.view.svg.contains(event.target);
    this.fingers.set(event.pointerId, [event.clientX, event.clientY, inside]);
    if (this.fingers.size < 2) return;
    this.spoiled = true;
    this.cancel();
  }

  lift(event) {
    this.fingers.delete(event.pointerId);
    if (this.fingers.size === 0) this.spoiled = false;
  }

  press(event) {
    if (event.button !== 0) return;
    const point = this.view.pointAt(event.clientX, event.clientY);
    if (event.pointerType !== "mouse") {
      event.preventDefault();
      this.view.svg.setPointerCapture(event.pointerId);
      if (this.spoiled) return;
      this.on.aim(point);
    }
    this.pressed = { id: event.pointerId, point, slid: false };
  }

  move(event) {
    const finger = this.fingers.get(event.pointerId);
    if (finger && this.spoiled) {
      this.pinch(event);
      return;
    }
    const point = this.view.pointAt(event.clientX, event.clientY);
    if (event.pointerType === "mouse") {
      this.on.hover(point);
    } else if (this.pressed?.id === event.pointerId) {
      if (point !== this.pressed.point) this.pressed.slid = true;
      this.on.aim(point);
    }
  }

  // A mouse plays where it was pressed and let go; a finger where it leaves the glass.
  release(event) {
    const { pressed } = this;
    if (pressed?.id !== event.pointerId || event.button !== 0) return;
    this.pressed = null;
    const mouse = event.pointerType === "mouse";
    const point = this.view.pointAt(event.clientX, event.clientY);
    if (!mouse) this.on.aim(null);
    if (point === null || (mouse && point !== pressed.point)) {
      this.disarm();
    } else if (this.asksTwice(mouse) && !pressed.slid && point !== this.armed && this.on.free(point)) {
      this.armed = point;
      this.on.aim(point);
      this.on.armed(point);
    } else {
      this.disarm();
      this.on.point(point);
    }
  }

  asksTwice(mouse) {
    return this.confirm === "always" || (this.confirm === "small" && !mouse && this.view.cellPx < PLAYED_DIRECTLY);
  }

  // Forgets what is aimed at; nothing is played.
  cancel() {
    const aiming = this.pressed !== null || this.armed !== null;
    this.pressed = null;
    this.armed = null;
    if (aiming) this.on.aim(null);
    return aiming;
  }

  disarm() {
    if (this.armed === null) return;
    this.armed = null;
    this.on.aim(null);
  }

  // Two fingers that began on the board move and stretch it; what is between them stays between them.
  pinch(event) {
    const before = this.pair();
    this.fingers.set(event.pointerId, [event.clientX, event.clientY, true]);
    const now = this.pair();
    if (before && now) this.view.zoomBy(now.apart / Math.max(1, before.apart), before.middle, now.middle);
  }

  pair() {
    const [a, b] = [...this.fingers.values()].filter((finger) => finger[2]);
    if (!b) return null;
    return { apart: Math.hypot(a[0] - b[0], a[1] - b[1]), middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] };
  }

  // What a pinch on a touchpad becomes; a plain wheel scrolls the page.
  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = [event.clientX, event.clientY];
    this.view.zoomBy(Math.exp(-event.deltaY * WHEEL_STEP), at, at);
  }
}
