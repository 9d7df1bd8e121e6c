// The context space: which policy serves which target, how well, and where they were trained.

// A slice with more cells than this is drawn as an image.
const MOST_CELLS = 5000;

// -- the reader's view ------------------------------------------------------------------------

function initialView() {
  const count = data.space.dimensions.length;
  const view = {
    x: count > 2 ? 1 : 0,
    y: count > 2 ? 2 : 1,
    at: levels.map(() => 0),
    upTo: null,
    only: null,
  };
  if (isGrid() && data.gaps.worst.length) view.at = placesOf(data.gaps.worst[0]);
  return view;
}
const rowsShown = () => Math.min(state.map.upTo ?? returns.length, returns.length);
const hidden = () =>
  data.space.dimensions.map((_, d) => d).filter((d) => d !== state.map.x && d !== state.map.y);

// How a target is drawn: its colour, and whether it is badly covered.
function paintOf(target, now) {
  const { only } = state.map;
  if (only !== null) {
    const part = share(returns[only][target]);
    return part === null || Number.isNaN(part)
      ? null
      : { fill: rampText(part), bad: false };
  }
  const row = now.who[target];
  return row < 0 ? null : { fill: colourOf(row), bad: isBad(now.best[target]) };
}

// -- drawings ---------------------------------------------------------------------------------

function paintMap(place, width) {
  const now = standing(rowsShown());
  if (data.space.dimensions.length === 1) return paintLine(place, width, now);
  return isGrid() ? paintSlice(place, width, now) : paintPoints(place, width, now);
}

const hatch = () =>
  draw(
    "defs",
    {},
    draw(
      "pattern",
      {
        id: "hatch",
        width: 7,
        height: 7,
        patternUnits: "userSpaceOnUse",
        patternTransform: "rotate(45)",
      },
      draw("line", { x1: 1, x2: 1, y1: 0, y2: 7, class: "hatch-line" }),
      draw("line", { x1: 2.2, x2: 2.2, y1: 0, y2: 7, class: "hatch-line light" }),
    ),
  );

function axisName(d) {
  const { name, unit, scale } = data.space.dimensions[d];
  const remarks = [unit, scale === "log" ? "log" : null].filter(Boolean);
  return remarks.length ? `${name} (${remarks.join(", ")})` : name;
}

function mapFrame(width) {
  const box = { left: 70, right: 8, top: 8, bottom: 44 };
  const side = width - box.left - box.right;
  const tall = Math.round(Math.min(side * 0.72, 520)) + box.top + box.bottom;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${tall}` }, hatch());
  return { svg, box, tall, wide: side, high: tall - box.top - box.bottom };
}

function drawMapNames(svg, box, width, tall) {
  const [x, y] = [state.map.x, state.map.y].map(axisName);
  const middle = box.top + (tall - box.top - box.bottom) / 2;
  svg.append(
    draw(
      "text",
      {
        x: box.left + (width - box.left - box.right) / 2,
        y: tall - 6,
        "text-anchor": "middle",
        class: "strong",
      },
      x,
    ),
    draw(
      "text",
      {
        x: 11,
        y: middle,
        "text-anchor": "middle",
        class: "strong",
        transform: `rotate(-90 11 ${middle})`,
      },
      y,
    ),
  );
}

function paintSlice(place, width, now) {
  const { x, y } = state.map;
  const { svg, box, tall, wide, high } = mapFrame(width);
  const columns = levels[x].length,
    rows = levels[y].length;
  const cell = { w: wide / columns, h: high / rows };
  const left = (column) => box.left + column * cell.w,
    top = (row) => box.top + (rows - 1 - row) * cell.h;
  const target = (column, row) =>
    targetAt(state.map.at.map((at, d) => (d === x ? column : d === y ? row : at)));
  if (columns * rows > MOST_CELLS)
    svg.append(cellsAsImage(columns, rows, target, now, box, wide, high));
  else drawCells(svg, columns, rows, target, now, left, top, cell);
  drawLevels(svg, x, y, box, tall, left, top, cell);
  drawMapNames(svg, box, width, tall);
  const cells = cellsByPolicy(columns, rows, (column, row) => now.who[target(column, row)]);
  drawSources(svg, box, wide, high, (row) => row in cells);
  if (state.map.only === null) drawAreaNumbers(svg, cells, left, top, cell);
  const cursor = draw("rect", {
    class: "cursor",
    width: cell.w,
    height: cell.h,
    visibility: "hidden",
  });
  svg.append(cursor);
  put(place, svg);
  explore(svg, `Map of ${data.space.dimensions[x].name} and ${data.space.dimensions[y].name}.`, {
    size: () => [columns, rows],
    locate: (px, py) => {
      const at = [Math.floor((px - box.left) / cell.w), Math.floor((py - box.top) / cell.h)];
      return at[0] >= 0 && at[0] < columns && at[1] >= 0 && at[1] < rows ? at : null;
    },
    // Rows are counted from above here, as the arrow keys go.
    place: (column, row) => ({ x: left(column) + cell.w / 2, y: box.top + (row + 0.5) * cell.h }),
    describe: (column, row) => describeTarget(target(column, rows - 1 - row), now, state.map.only),
    mark: (column, row) => {
      cursor.setAttribute("visibility", column === null ? "hidden" : "visible");
      if (column === null) return;
      cursor.setAttribute("x", left(column));
      cursor.setAttribute("y", box.top + row * cell.h);
    },
  });
}

function drawCells(svg, columns, rows, target, now, left, top, cell) {
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1) {
      const paint = paintOf(target(column, row), now);
      const area = {
        x: left(column) + 0.5,
        y: top(row) + 0.5,
        width: Math.max(cell.w - 1, 0.5),
        height: Math.max(cell.h - 1, 0.5),
      };
      svg.append(
        draw(
          "rect",
          paint
            ? { ...area, css: { fill: paint.fill } }
            : { ...area, class: "missing" },
        ),
      );
      if (paint && paint.bad) svg.append(draw("rect", { ...area, class: "bad" }));
    }
  }
}

// A large slice as one image, a pixel for each target.
function cellsAsImage(columns, rows, target, now, box, wide, high) {
  const canvas = make("canvas", { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1) {
      const paint = paintOf(target(column, row), now);
      if (!paint) continue;
      pen.fillStyle = paint.fill;
      pen.fillRect(column, rows - 1 - row, 1, 1);
    }
  }
  return draw("image", {
    href: canvas.toDataURL(),
    x: box.left,
    y: box.top,
    width: wide,
    height: high,
    preserveAspectRatio: "none",
    css: { "image-rendering": "pixelated" },
  });
}

// The cells of a slice by the row of the policy that serves them.
function cellsByPolicy(columns, rows, whoAt) {
  const cells = {};
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1) (cells[whoAt(column, row)] ||= []).push([column, row]);
  }
  delete cells[-1];
  return cells;
}

// The number of each policy in the middle of what it serves here: colour is not all that tells.
function drawAreaNumbers(svg, cells, left, top, cell) {
  if (cell.w < 16 || cell.h < 14) return;
  for (const [who, places] of Object.entries(cells)) {
    const policy = policyOf(who);
    if (policy.kind === "point" && reachesSlice(policy)) continue; // its star has the number
    const middle = [0, 1].map(
      (i) => places.reduce((sum, place) => sum + place[i], 0) / places.length,
    );
    const away = ([column, row]) => (column - middle[0]) ** 2 + (row - middle[1]) ** 2;
    const [column, row] = places.reduce((best, place) => (away(place) < away(best) ? place : best));
    svg.append(
      draw(
        "text",
        {
          class: "on-map",
          x: left(column) + cell.w / 2,
          y: top(row) + cell.h / 2 + 4,
          "text-anchor": "middle",
        },
        String(data.rows.policies[who]),
      ),
    );
  }
}

function drawLevels(svg, x, y, box, tall, left, top, cell) {
  const every = (count, room) => Math.max(1, Math.ceil(count / Math.max(2, Math.floor(room))));
  const across = every(levels[x].length, (levels[x].length * cell.w) / 52);
  levels[x].forEach((_, column) => {
    if (column % across) return;
    svg.append(
      draw(
        "text",
        { x: left(column) + cell.w / 2, y: tall - box.bottom + 17, "text-anchor": "middle" },
        number(valueAt(x, column), 3),
      ),
    );
  });
  const up = every(levels[y].length, (levels[y].length * cell.h) / 18);
  levels[y].forEach((_, row) => {
    if (row % up) return;
    svg.append(
      draw(
        "text",
        { x: box.left - 6, y: top(row) + cell.h / 2 + 4, "text-anchor": "end" },
        number(valueAt(y, row), 3),
      ),
    );
  });
}

// Where on an axis of a grid, in cells, a unit coordinate is; at the ends half a cell further.
function cellAt(d, unit) {
  const count = levels[d].length;
  if (unit <= 0) return 0;
  if (unit >= 1) return count;
  for (let i = 1; i < count; i += 1) {
    const [low, high] = [unitAt(d, i - 1), unitAt(d, i)];
    if (unit <= high) return i - 0.5 + (unit - low) / (high - low);
  }
  return count - 0.5;
}

// Whether a source has a part in the slice; one between two levels is in that nearest to it.
function reachesSlice(policy) {
  return hidden().every((d) => {
    const [low, high] = policy.box[d];
    const units = levels[d].map((_, place) => unitAt(d, place));
    if (units.some((unit) => unit >= low - 1e-6 && unit <= high + 1e-6)) {
      const unit = units[state.map.at[d]];
      return unit >= low - 1e-6 && unit <= high + 1e-6;
    }
    const away = units.map((unit) => Math.abs(unit - (low + high) / 2));
    return state.map.at[d] === away.indexOf(Math.min(...away));
  });
}

// Outlines of regions, stars of points, with the numbers of their policies. Of regions, those whose
// policy serves something that is shown: of many the others would hide it.
function drawSources(svg, box, wide, high, isShown = () => true) {
  const { x, y, only } = state.map;
  const position = (d, unit) => (isGrid() ? cellAt(d, unit) / levels[d].length : unit);
  for (let row = 0; row < rowsShown(); row += 1) {
    const policy = policyOf(row);
    const wanted =
      only === null ? isServing(row) && (policy.kind === "point" || isShown(row)) : row === only;
    if (!wanted || policy.kind === "whole" || (isGrid() && !reachesSlice(policy))) continue;
    const [left, right] = policy.box[x].map((unit) => box.left + position(x, unit) * wide);
    const [bottom, top] = policy.box[y].map((unit) => box.top + high - position(y, unit) * high);
    if (policy.kind === "point") {
      const at = (d, unit, size) =>
        isGrid()
          ? ((Math.floor(clamp(cellAt(d, unit), 0, levels[d].length - 0.01)) + 0.5) /
              levels[d].length) *
            size
          : unit * size;
      drawStar(
        svg,
        box.left + at(x, policy.box[x][0], wide),
        box.top + high - at(y, policy.box[y][0], high),
        colourOf(row),
        policy.id,
      );
      continue;
    }
    const area = {
      x: left + 2.5,
      y: top + 2.5,
      width: Math.max(right - left - 5, 4),
      height: Math.max(bottom - top - 5, 4),
      rx: 3,
    };
    svg.append(
      draw("rect", { ...area, class: "halo" }),
      draw("rect", { ...area, class: "region", stroke: colourOf(row) }),
      draw("text", { class: "on-map", x: area.x + 5, y: area.y + 14 }, String(policy.id)),
    );
  }
}

function drawStar(svg, x, y, colour, id) {
  const points = Array.from({ length: 10 }, (_, i) => {
    const radius = i % 2 ? 4 : 9,
      angle = Math.PI * (i / 5 - 0.5);
    return `${x + radius * Math.cos(angle)},${y + radius * Math.sin(angle)}`;
  });
  svg.append(
    draw("polygon", { class: "star", points: points.join(" "), css: { fill: colour } }),
    draw("text", { class: "on-map", x: x + 8, y: y - 5 }, String(id)),
  );
}

// Targets that are a list: points over a pair of dimensions.
function paintPoints(place, width, now) {
  const { x, y } = state.map;
  const { svg, box, tall, wide, high } = mapFrame(width);
  const radius = clamp(Math.sqrt((wide * high) / data.space.targets) / 4, 2.5, 9);
  const inner = {
    left: box.left + radius,
    top: box.top + radius,
    wide: wide - 2 * radius,
    high: high - 2 * radius,
  };
  const at = data.space.units.map((unit) => [
    inner.left + unit[x] * inner.wide,
    inner.top + (1 - unit[y]) * inner.high,
  ]);
  svg.append(draw("rect", { class: "axis", x: box.left, y: box.top, width: wide, height: high }));
  at.forEach(([px, py], target) => {
    const paint = paintOf(target, now);
    svg.append(
      draw("circle", {
        cx: px,
        cy: py,
        r: radius,
        class: paint ? null : "missing",
        css: paint ? { fill: paint.fill } : {},
      }),
    );
    if (paint && paint.bad) svg.append(draw("circle", { cx: px, cy: py, r: radius, class: "bad" }));
  });
  drawEnds(svg, box, inner, tall);
  drawMapNames(svg, box, width, tall);
  drawSources(svg, inner, inner.wide, inner.high);
  const cursor = draw("circle", { class: "cursor", r: radius + 2, visibility: "hidden" });
  svg.append(cursor);
  put(place, svg);
  explore(
    svg,
    `Targets by ${data.space.dimensions[x].name} and ${data.space.dimensions[y].name}.`,
    {
      size: () => [at.length, 1],
      locate: (px, py) =>
        nearestPoint(
          [{ points: at }],
          (a) => a,
          (b) => b,
          px,
          py,
        ),
      place: (target) => ({ x: at[target][0], y: at[target][1] }),
      describe: (target) => describeTarget(target, now, state.map.only),
      mark: (target) => {
        cursor.setAttribute("visibility", target === null ? "hidden" : "visible");
        if (target === null) return;
        cursor.setAttribute("cx", at[target][0]);
        cursor.setAttribute("cy", at[target][1]);
      },
    },
  );
}

const valueAtUnit = ({ low, high, scale }, unit) =>
  scale === "log" ? low * (high / low) ** unit : low + unit * (high - low);

function drawEnds(svg, box, inner, tall) {
  const [x, y] = [state.map.x, state.map.y].map((d) => data.space.dimensions[d]);
  for (const unit of [0, 0.5, 1]) {
    svg.append(
      draw(
        "text",
        {
          x: inner.left + unit * inner.wide,
          y: tall - box.bottom + 17,
          "text-anchor": ["start", "middle", "end"][2 * unit],
        },
        number(valueAtUnit(x, unit), 3),
      ),
      draw(
        "text",
        { x: box.left - 6, y: inner.top + (1 - unit) * inner.high + 4, "text-anchor": "end" },
        number(valueAtUnit(y, unit), 3),
      ),
    );
  }
}

// One dimension: every policy that serves a target, the best of all, and where they were trained.
function paintLine(place, width, now) {
  const dimension = data.space.dimensions[0];
  const units = isGrid() ? dimension.units : data.space.units.map(([unit]) => unit);
  const order = units.map((_, i) => i).sort((a, b) => units[a] - units[b]);
  const points = (values) =>
    order.filter((i) => !Number.isNaN(values[i])).map((i) => [units[i], level(values[i]), i]);
  const series = [];
  for (let row = 0; row < rowsShown(); row += 1) {
    if (!isServing(row) || (state.map.only !== null && state.map.only !== row)) continue;
    series.push({
      name: `policy ${policyOf(row).id}`,
      colour: colourOf(row),
      points: points(returns[row]),
      label: String(policyOf(row).id),
      row,
    });
  }
  if (state.map.only === null) {
    series.push({ name: "best", points: points(now.best), width: 1.5, dash: "5 4", label: "best" });
  }
  const shown = Array.from(
    { length: Math.min(6, order.length) },
    (_, i) =>
      order[Math.round((i * (order.length - 1)) / Math.max(1, Math.min(6, order.length) - 1))],
  );
  const text = (i) => number(isGrid() ? dimension.values[i] : data.space.points[i][0], 3);
  const chart = lineChart(place, width, series, {
    height: 340,
    label: `${levelName()} by ${dimension.name}.`,
    x: {
      label: axisName(0),
      low: 0,
      high: 1,
      ticks: shown.map((i) => ({ at: units[i], text: text(i) })),
    },
    y: { label: data.range_known ? "share of the range of returns (%)" : "return" },
    describe: (one, [, y, target]) => [contextText(target), `${one.name}: ${number(y)}`],
  });
  drawLineSources(chart);
}

function drawLineSources({ svg, x, bottom: end }) {
  const bottom = end - 6;
  for (let row = 0; row < rowsShown(); row += 1) {
    const policy = policyOf(row);
    if (!isServing(row) || policy.kind === "whole") continue;
    const [low, high] = policy.box[0];
    if (policy.kind === "point") drawStar(svg, x(low), bottom, colourOf(row), policy.id);
    else
      svg.append(
        draw("line", {
          x1: x(low),
          x2: x(high),
          y1: bottom,
          y2: bottom,
          stroke: colourOf(row),
          "stroke-width": 6,
          "stroke-linecap": "round",
        }),
        draw("text", { class: "on-map", x: x((low + high) / 2), y: bottom - 6 }, String(policy.id)),
      );
  }
}
