// Elements. All text becomes text nodes: nothing from a study is ever parsed as HTML.

const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value))
        element.addEventListener(event, listener);
    } else if (name === "css") {
      for (const [property, setting] of Object.entries(value))
        element.style.setProperty(property, setting);
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

const make = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Puts something in the place of all that is in an element.
function put(element, ...children) {
  element.replaceChildren();
  return fill(element, {}, children);
}

// A chip that chooses something; what it does redraws it, so the focus is put back.
function choosingChip(list, key, { pressed, colour, choose }, ...text) {
  const click = () => {
    choose();
    list.querySelector(`[data-key='${key}']`).focus({ preventScroll: true });
  };
  const attributes = {
    type: "button",
    class: "chip",
    "aria-pressed": String(pressed),
    "data-key": key,
    on: { click },
  };
  const swatch = colour && make("span", { class: "swatch", css: { background: colour } });
  return make("li", {}, make("button", attributes, swatch || null, text));
}

// What the reader has chosen. It outlives every redrawing, so that news does not change the view.
const state = { map: null, rowOrder: "best", shown: null };

let data = null;

// -- what is under the pointer or the cursor --------------------------------------------------

function showTip(lines, x, y) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.map((line) => make("p", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth - 4 ? x - 14 - box.width : x + 14;
  const top = y + 14 + box.height > innerHeight - 4 ? y - 14 - box.height : y + 14;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

// Makes a figure of columns and rows readable by pointer and by arrow keys.
//   size: () => [columns, rows]; locate(x, y) => [column, row] or null, in pixels of the element;
//   place(column, row) => {x, y} of its middle; describe(column, row) => lines;
//   mark(column, row) shows where one is, or with null nowhere.
function explore(element, label, { size, locate, place, describe, mark }) {
  let at = null;
  element.setAttribute("tabindex", "0");
  element.setAttribute("role", "application");
  element.setAttribute("aria-roledescription", "figure");
  element.setAttribute("aria-label", `${label} Arrow keys read the values.`);
  const leave = () => {
    at = null;
    mark(null);
    hideTip();
  };
  const visit = (cell, x, y) => {
    const lines = cell && describe(...cell);
    if (!lines) return leave();
    at = cell;
    mark(...cell);
    showTip(lines, x, y);
    return lines;
  };
  const point = (event) => {
    const box = element.getBoundingClientRect();
    visit(locate(event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
  };
  element.addEventListener("pointermove", point);
  element.addEventListener("pointerdown", point);
  element.addEventListener("pointerleave", leave);
  element.addEventListener("blur", leave);
  element.addEventListener("keydown", (event) => {
    const [columns, rows] = size();
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Escape") return leave();
    if (!(event.key in steps) || !columns || !rows) return;
    event.preventDefault();
    const [right, down] = steps[event.key];
    const [column, row] = at || [-right, -down];
    const next = [clamp(column + right, 0, columns - 1), clamp(row + down, 0, rows - 1)];
    const { x, y } = place(...next);
    const box = element.getBoundingClientRect();
    const lines = visit(next, box.left + x, box.top + y);
    if (lines) byId("said").textContent = lines.join(". ");
  });
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// A section with a heading for a figure; returns its body.
function section(id, title, lead) {
  const body = make("div", {});
  const heading = make("h2", { id: `${id}-title` }, title);
  const text = make("p", { class: "lead" }, lead);
  byId("figures").append(
    make("section", { id, "aria-labelledby": `${id}-title` }, heading, text, body),
  );
  return body;
}

// A drawing as wide as its place, drawn again when that changes.
function figure(paint) {
  const place = make("div", { class: "figure" });
  let width = 0;
  place.redraw = () => {
    width = place.clientWidth;
    if (width) paint(place, width);
  };
  new ResizeObserver(() => {
    if (place.clientWidth !== width) place.redraw();
  }).observe(place);
  return place;
}
