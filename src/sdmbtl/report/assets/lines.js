// Lines over numbers: coverage, learning curves, performance.

// series: [{name, colour, points: [[x, y]...], width, dash, marks: (index) => "circle"|"square"|null,
//           label}]
// options: {x: {label, integer, low, high, ticks}, y: {label, low, high}, guides: [{y, label}], height,
//           describe(series, point, index), label}
// Returns the drawing, where an x is in it, and where its lower end is.
function lineChart(place, width, series, options) {
  const tall = options.height || 300;
  const every = series.flatMap((one) => one.points);
  const longest = Math.max(0, ...series.map((one) => (one.label ? one.label.length : 0)));
  const direct = longest > 0;
  const box = {
    left: 46,
    right: direct ? Math.min(8 * longest + 28, width * 0.4) : 14,
    top: 26,
    bottom: 40,
  };
  const plain = every.length
    ? every
    : [
        [0, 0],
        [1, 1],
      ];
  const guides = options.guides || [];
  const ys = [
    ...plain.map((p) => p[1]),
    ...guides.map((g) => g.y),
  ];
  const xLow = options.x.low ?? Math.min(...plain.map((p) => p[0]));
  const xHigh =
    options.x.high ?? Math.max(...plain.map((p) => p[0]), xLow + (options.x.integer ? 1 : 1e-9));
  let [low, high] = [options.y.low ?? Math.min(...ys), options.y.high ?? Math.max(...ys)];
  if (!(high > low)) [low, high] = [low - 0.5, high + 0.5];
  const pad = 0.05 * (high - low);
  if (options.y.low === undefined) low -= pad;
  if (options.y.high === undefined) high += pad;
  const x = (value) =>
    box.left + ((value - xLow) / (xHigh - xLow)) * (width - box.left - box.right);
  const y = (value) =>
    tall -
    box.bottom -
    ((value - low) / (high - low)) * (tall - box.top - box.bottom);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${tall}` });
  drawAxes(svg, width, tall, box, options, { x, y, xLow, xHigh, low, high });
  for (const guide of guides) {
    svg.append(
      draw("line", {
        class: "guide",
        x1: box.left,
        x2: width - box.right,
        y1: y(guide.y),
        y2: y(guide.y),
      }),
      guideName(guide, series, x, y, width, box),
    );
  }
  for (const one of series) drawSeries(svg, one, x, y);
  if (direct) drawLabels(svg, series, x, y, width, box, tall);
  const cursor = draw("circle", { class: "cursor", r: 6, visibility: "hidden" });
  svg.append(cursor);
  put(place, svg);
  const shown = series.filter((one) => one.points.length && one.describe !== null);
  explore(svg, options.label, {
    size: () => [Math.max(0, ...shown.map((one) => one.points.length)), shown.length],
    locate: (px, py) => nearestPoint(shown, x, y, px, py),
    place: (column, row) => {
      const [a, b] = shown[row].points[Math.min(column, shown[row].points.length - 1)];
      return { x: x(a), y: y(b) };
    },
    describe: (column, row) => {
      const one = shown[row],
        index = Math.min(column, one.points.length - 1);
      return options.describe(one, one.points[index], index);
    },
    mark: (column, row) => {
      cursor.setAttribute("visibility", column === null ? "hidden" : "visible");
      if (column === null) return;
      const [a, b] = shown[row].points[Math.min(column, shown[row].points.length - 1)];
      cursor.setAttribute("cx", x(a));
      cursor.setAttribute("cy", y(b));
    },
  });
  return { svg, x, bottom: tall - box.bottom };
}

// Next to a line that rises there is room to the right below it, and to the left above it.
function guideName(guide, series, x, y, width, box) {
  const ends = series
    .filter((one) => one.points.length)
    .map((one) => y(one.points[one.points.length - 1][1]));
  const below = ends.length && y(guide.y) > Math.max(...ends) + 24;
  const side = below ? { x: width - box.right - 4, "text-anchor": "end" } : { x: box.left + 6 };
  return draw("text", { ...side, y: y(guide.y) - 5 }, guide.label);
}

function nearestPoint(series, x, y, px, py) {
  let best = null,
    least = 60 ** 2;
  series.forEach((one, row) =>
    one.points.forEach(([a, b], column) => {
      const away = (x(a) - px) ** 2 + (y(b) - py) ** 2;
      if (away < least) [best, least] = [[column, row], away];
    }),
  );
  return best;
}

function drawAxes(svg, width, tall, box, options, { x, y, xLow, xHigh, low, high }) {
  for (const tick of ticks(low, high, Math.floor(tall / 60))) {
    svg.append(
      draw("line", {
        class: "axis",
        x1: box.left,
        x2: width - box.right,
        y1: y(tick),
        y2: y(tick),
      }),
      draw("text", { x: box.left - 8, y: y(tick) + 4, "text-anchor": "end" }, number(tick)),
    );
  }
  const named =
    options.x.ticks ||
    ticks(xLow, xHigh, Math.floor((width - box.left - box.right) / 48), options.x.integer).map(
      (at) => ({ at, text: xHigh >= 10000 ? `${number(at / 1000)}k` : number(at) }),
    );
  for (const { at, text } of named) {
    svg.append(
      draw("text", { x: x(at), y: tall - box.bottom + 18, "text-anchor": "middle" }, text),
    );
  }
  svg.append(
    draw(
      "text",
      { x: (box.left + width - box.right) / 2, y: tall - 4, "text-anchor": "middle" },
      options.x.label,
    ),
    draw("text", { x: 0, y: 10 }, options.y.label),
  );
}

function drawSeries(svg, one, x, y) {
  const colour = one.colour || "var(--text)";
  svg.append(
    draw("polyline", {
      points: one.points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "),
      fill: "none",
      stroke: colour,
      "stroke-width": one.width || 2,
      "stroke-dasharray": one.dash,
      "stroke-linejoin": "round",
      "stroke-opacity": one.opacity,
    }),
  );
  one.points.forEach(([a, b], index) => {
    const mark = one.marks && one.marks(index);
    const fill = one.markColour ? one.markColour(index) : colour;
    const look = { fill, stroke: "var(--muted)" }; // light colours need an edge
    if (mark === "square") {
      svg.append(draw("rect", { x: x(a) - 4.5, y: y(b) - 4.5, width: 9, height: 9, ...look }));
    } else if (mark) {
      svg.append(draw("circle", { cx: x(a), cy: y(b), r: 4.8, ...look }));
    }
  });
}

// Names at the ends of the lines, moved apart.
function drawLabels(svg, series, x, y, width, box, tall) {
  const labels = series
    .filter((one) => one.label && one.points.length)
    .map((one) => ({ one, at: y(one.points[one.points.length - 1][1]) }))
    .sort((a, b) => a.at - b.at);
  let lowest = box.top - 8;
  for (const label of labels) {
    label.at = Math.max(label.at, lowest + 14);
    lowest = label.at;
  }
  let highest = tall - box.bottom + 14;
  for (const label of labels.reverse()) {
    label.at = Math.min(label.at, highest - 14);
    highest = label.at;
    svg.append(
      draw("circle", {
        cx: width - box.right + 9,
        cy: label.at,
        r: 4,
        css: { fill: label.one.colour || "var(--text)" },
      }),
      draw(
        "text",
        { x: width - box.right + 18, y: label.at + 4, class: "strong" },
        label.one.label,
      ),
    );
  }
}
