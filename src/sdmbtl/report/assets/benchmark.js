// The page of a benchmark.

const SELECTOR_COLOURS = {
  random: "#8a8a8a",
  independent: "#c9b18f",
  "myopic-oracle": "var(--text)",
  "sequential-oracle": "#56B4E9",
};
const PLAIN_COLOURS = [
  "#0072B2",
  "#E69F00",
  "#009E73",
  "#CC79A7",
  "#D55E00",
  "#7fb8d8",
  "#f2cf7f",
  "#7fceb9",
];

function selectorColour(name) {
  const others = data.scores
    .map((score) => score.selector)
    .filter((other) => !(other in SELECTOR_COLOURS));
  return (
    SELECTOR_COLOURS[name] ||
    PLAIN_COLOURS[Math.max(0, others.indexOf(name)) % PLAIN_COLOURS.length]
  );
}

function buildBenchmark() {
  const title = make("h1", {}),
    text = make("p", { class: "lead" });
  byId("main").append(title, text);
  const parts = [
    () => {
      document.title = data.headline;
      title.textContent = data.headline;
      text.textContent = data.summary.join(" ");
    },
  ];
  const lazily = [
    [() => data.scores.length > 0, buildScores],
    [() => data.tables.length > 0, buildTables],
    [() => true, buildPerformance],
    [() => true, buildBenchmarkSettings],
  ];
  return { parts, lazily, signature: () => lazily.map(([wanted]) => wanted()).join() };
}

function buildScores() {
  const { body } = section(
    "scores",
    "Aggregated score against the number of policies",
    "Mean over the problems: random choice is 0, the Myopic Oracle 1. Bars are 95 % intervals, where they were computed.",
    { short: "Score" },
  );
  const picture = figure((place, width) => {
    const series = data.scores.map((score) => ({
      name: score.selector,
      label: score.selector,
      colour: selectorColour(score.selector),
      points: score.means.map((y, i) => [i + 1, y]).filter(([, y]) => known(y)),
      bars: Object.entries(score.half_widths).map(([k, half]) => [
        Number(k),
        score.means[k - 1],
        half,
      ]),
    }));
    lineChart(place, width, series, {
      height: 380,
      x: { label: "policies, K", integer: true, low: 1 },
      y: { label: "score" },
      guides: [
        { y: 0, label: "random choice" },
        { y: 1, label: "Myopic Oracle" },
      ],
      label: "Aggregated score.",
      describe: (one, [k, y]) => [
        `${one.name}: ${number(y)}`,
        `with ${counted(k, "policy", "policies")}`,
      ],
    });
  });
  body.append(picture);
  return picture.redraw;
}

function buildTables() {
  const { body } = section(
    "tables",
    "Tables",
    "Means with 95 % intervals. Bold: among the best of the row; in brackets, the paper's value.",
    { short: "Tables", long: true },
  );
  const buttons = make("div", { class: "controls", role: "group", "aria-label": "Which table" });
  const place = make("div", {});
  body.append(buttons, place);
  function update() {
    state.table = Math.min(state.table, data.tables.length - 1);
    put(
      buttons,
      ...data.tables.map((table, i) =>
        make(
          "button",
          {
            type: "button",
            "aria-pressed": String(i === state.table),
            "data-key": `table-${i}`,
            on: {
              click: () => {
                state.table = i;
                update();
                buttons.querySelector(`[data-key='table-${i}']`).focus({ preventScroll: true });
              },
            },
          },
          table.policies === null ? "What choosing can gain" : `K = ${table.policies}`,
        ),
      ),
    );
    put(place, ...resultTable(data.tables[state.table]));
  }
  return update;
}

function resultTable(table) {
  const body = table.rows.map((row) =>
    make(
      "tr",
      { class: row.summary ? "summary" : null },
      table.headers.map((_, i) => make("td", {}, row.labels[i] ?? "")),
      row.cells.map((cell) =>
        make("td", { class: "number" }, cell === null ? "–" : resultCell(cell)),
      ),
    ),
  );
  return [
    make("h3", {}, table.title),
    make(
      "div",
      { class: "scroll" },
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            table.headers.map((text) => make("th", { scope: "col" }, text)),
            table.columns.map((text) => make("th", { scope: "col", class: "number" }, text)),
          ),
        ),
        make("tbody", {}, body),
      ),
    ),
    ...table.notes.map((note) => make("p", { class: "note" }, note)),
  ];
}

function resultCell([value, half, published, bold, digits]) {
  const shown = Math.min(digits, 3);
  const text =
    value.toFixed(shown) +
    (known(half) ? ` ± ${half.toFixed(shown)}` : "") +
    (known(published) ? ` [${published.toFixed(shown)}]` : "");
  return bold ? make("strong", {}, text) : text;
}

function buildPerformance() {
  const { body } = section(
    "performance",
    "Performance and choices on one problem",
    "Performance with 1 to K policies, and which strategy chose in each round.",
    { short: "Curves" },
  );
  const curves = figure(paintPerformance),
    choices = make("div", {});
  const update = () => {
    curves.redraw();
    paintShares(choices);
  };
  const chosen = make(
    "select",
    {
      "data-key": "problem",
      on: {
        change: (event) => {
          state.problem = Number(event.target.value);
          update();
        },
      },
    },
    data.problems.map((problem, i) => make("option", { value: i }, problem.label)),
  );
  body.append(
    make("div", { class: "controls" }, make("label", {}, "Problem", chosen)),
    curves,
    choices,
  );
  return update;
}

// Half the width of the interval at every round, where it is known at every round.
function band(curve) {
  const widths = Object.entries(curve.half_widths);
  if (widths.length < curve.means.length) return [];
  return curve.means.map((y, i) => [
    i + 1,
    y - (curve.half_widths[i + 1] || 0),
    y + (curve.half_widths[i + 1] || 0),
  ]);
}

function paintPerformance(place, width) {
  const problem = data.problems[state.problem];
  const series = problem.curves.map((curve) => ({
    name: curve.selector,
    label: curve.selector,
    colour: selectorColour(curve.selector),
    points: curve.means.map((y, i) => [i + 1, y]),
    band: band(curve),
    bars: band(curve).length
      ? []
      : Object.entries(curve.half_widths).map(([k, half]) => [Number(k), curve.means[k - 1], half]),
  }));
  lineChart(place, width, series, {
    height: 400,
    x: { label: "policies", integer: true, low: 1 },
    y: { label: "performance, 0 to 1" },
    guides: known(problem.all_policies)
      ? [{ y: problem.all_policies, label: "all policies together" }]
      : [],
    label: "Performance by number of policies.",
    describe: (one, [k, y]) => [
      `${one.name}: ${number(y)}`,
      `with ${counted(k, "policy", "policies")}`,
    ],
  });
}

function paintShares(place) {
  const mixed = data.problems[state.problem].curves.filter(
    (curve) => Object.keys(curve.choices).length > 1,
  );
  put(
    place,
    ...mixed.flatMap((curve) => {
      const names = Object.keys(curve.choices);
      const picture = figure((inner, width) =>
        lineChart(
          inner,
          width,
          names.map((name, i) => ({
            name,
            label: name,
            colour: PLAIN_COLOURS[i % PLAIN_COLOURS.length],
            points: curve.choices[name].map((y, k) => [k + 1, y]),
          })),
          {
            height: 220,
            x: { label: "round", integer: true, low: 1 },
            y: { label: "share of the matrices", low: 0, high: 1 },
            label: `Choices of ${curve.selector}.`,
            describe: (one, [k, y]) => [`${one.name}: ${number(y)}`, `round ${k}`],
          },
        ),
      );
      return [
        make(
          "h3",
          { css: { "margin-top": "1.6rem" } },
          `Which strategy of ${curve.selector} chose`,
        ),
        picture,
      ];
    }),
  );
}

function buildBenchmarkSettings() {
  const { body } = section("settings", "Settings", "", { long: true });
  return () =>
    put(
      body,
      definitions(data.settings),
      foldable("versions", "Versions", definitions(data.versions)),
    );
}
