// Every policy on every target, as a heat map.

// A canvas is no wider than a browser can draw: of more targets, some are shown.
const MOST_COLUMNS = 8000;

function targetOrder() {
  const { best } = standing(returns.length);
  const order = Array.from({ length: data.space.targets }, (_, i) => i);
  if (state.rowOrder === "best")
    order.sort(
      (a, b) => (known(best[a]) ? best[a] : -Infinity) - (known(best[b]) ? best[b] : -Infinity),
    );
  else if (state.rowOrder !== "listed") {
    const d = Number(state.rowOrder);
    const coordinate = order.map((target) =>
      isGrid() ? placesOf(target)[d] : data.space.units[target][d],
    );
    order.sort((a, b) => coordinate[a] - coordinate[b]);
  }
  return order.length <= MOST_COLUMNS
    ? order
    : Array.from(
        { length: MOST_COLUMNS },
        (_, i) => order[Math.floor((i * order.length) / MOST_COLUMNS)],
      );
}

function paintRows(place, width) {
  const order = targetOrder(),
    count = returns.length;
  const left = 34,
    height = clamp(Math.floor(560 / count), 9, 26) * count;
  const small = new OffscreenCanvas(order.length, count),
    pen = small.getContext("2d");
  const pixels = pen.createImageData(order.length, count);
  returns.forEach((values, row) =>
    order.forEach((target, column) => {
      const part = share(values[target]) ?? NaN;
      if (Number.isNaN(part)) return;
      pixels.data.set([...ramp(part), 255], 4 * (row * order.length + column));
    }),
  );
  pen.putImageData(pixels, 0, 0);
  const wide = Math.max(1, Math.floor(width - left)),
    dense = Math.max(1, Math.round(devicePixelRatio || 1));
  const canvas = make("canvas", {
    width: wide * dense,
    height: height * dense,
    css: { width: `${wide}px`, height: `${height}px` },
  });
  const brush = canvas.getContext("2d");
  brush.imageSmoothingEnabled = order.length > wide;
  brush.drawImage(small, 0, 0, wide * dense, height * dense);
  const cursor = make("div", { class: "cursor-box", hidden: true });
  put(
    place,
    rowNames(left, height),
    make("div", { css: { "margin-left": `${left}px`, position: "relative" } }, canvas, cursor),
  );
  const cell = { w: wide / order.length, h: height / count };
  explore(canvas, "Returns of every policy on every target.", {
    size: () => [order.length, count],
    locate: (x, y) => {
      const at = [Math.floor(x / cell.w), Math.floor(y / cell.h)];
      return at[0] >= 0 && at[0] < order.length && at[1] >= 0 && at[1] < count ? at : null;
    },
    place: (column, row) => ({ x: (column + 0.5) * cell.w, y: (row + 0.5) * cell.h }),
    describe: (column, row) => [
      `Policy ${data.rows.policies[row]}: ${returnText(returns[row][order[column]])}`,
      contextText(order[column]),
    ],
    mark: (column, row) => {
      cursor.hidden = column === null;
      if (column === null) return;
      Object.assign(cursor.style, {
        left: `${column * cell.w - 2}px`,
        top: `${row * cell.h - 2}px`,
        width: `${Math.max(cell.w, 2) + 4}px`,
        height: `${cell.h + 4}px`,
      });
    },
  });
}

function rowNames(left, height) {
  const count = returns.length,
    room = height / count;
  const every = Math.max(1, Math.ceil(14 / room));
  const svg = draw("svg", {
    viewBox: `0 0 ${left} ${height}`,
    "aria-hidden": "true",
    css: { position: "absolute", left: "0", top: "0", width: `${left}px`, height: `${height}px` },
  });
  data.rows.policies.forEach((id, row) => {
    if (row % every === 0)
      svg.append(
        draw("text", { x: left - 8, y: (row + 0.5) * room + 4, "text-anchor": "end" }, String(id)),
      );
  });
  return svg;
}

function buildRows() {
  const body = section(
    "rows",
    "Every policy on every task",
    "Each line is a policy, each column a task, coloured from the lowest to the highest return.",
  );
  const picture = figure(paintRows);
  const orders = [
    ["best", "by best return"],
    ["listed", "as listed"],
    ...data.space.dimensions.map(({ name }, d) => [String(d), `by ${name}`]),
  ];
  const chosen = make(
    "select",
    {
      "data-key": "row-order",
      on: {
        change: (event) => {
          state.rowOrder = event.target.value;
          picture.redraw();
        },
      },
    },
    orders.map(([value, text]) =>
      make("option", { value, selected: value === state.rowOrder }, text),
    ),
  );
  const scale = make("span", {});
  body.append(
    make("div", { class: "controls" }, make("label", {}, "Targets", chosen), scale),
    picture,
  );
  return () => {
    const [low, high] = data.returns || [NaN, NaN];
    put(scale, `${number(low)} `, make("span", { class: "ramp" }), ` ${number(high)}`);
    picture.redraw();
  };
}
