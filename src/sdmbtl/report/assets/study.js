// The page of a study, from top to bottom.

function buildStudy() {
  const title = make("h1", {}),
    explained = make("p", { class: "lead" }),
    cards = make("div", { class: "cards" });
  byId("main").append(title, explained, cards);
  const parts = [
    () => {
      document.title = data.headline;
      title.textContent = data.headline;
      explained.textContent = explanation();
      put(
        cards,
        ...data.cards.map((card) =>
          make(
            "div",
            { class: "card" },
            make("div", { class: "label" }, card.label),
            make("div", { class: "value" }, card.value),
            card.lines.map((line) => make("p", {}, line)),
          ),
        ),
      );
    },
  ];
  const lazily = [
    [() => returns.length > 0, buildCoverage],
    [() => returns.length > 0, buildMap],
    [() => data.policies.length > 0, buildPolicies],
    [() => returns.length > 0, buildRows],
    [() => data.policies.length > 0, buildChoices],
    [() => data.policies.some((policy) => policy.curve.length), buildCurves],
    [() => data.failures.length > 0, buildFailures],
    [() => true, buildSettings],
  ];
  const signature = () => lazily.map(([wanted]) => wanted()).join();
  return { parts, lazily, signature };
}

function explanation() {
  const targets = counted(data.space.targets, "target");
  if (data.range_known) {
    const [low, high] = data.returns;
    return `Coverage is the mean over all ${targets} of the return of the best policy for each, as a share of the range of returns, ${number(low)} to ${number(high)}: 1 is perfect.`;
  }
  return `Returns are means over episodes; the best policy is taken for each of ${targets}. The range of possible returns is not known, so nothing is said in shares of it.`;
}

// -- coverage by round ------------------------------------------------------------------------

function buildCoverage() {
  const { body } = section(
    "coverage",
    `${data.range_known ? "Coverage" : "Mean best return"} by round`,
    "What each policy added, and what had been predicted of it before it was trained.",
    { short: "Coverage" },
  );
  const rise = figure(paintRise),
    forecasts = figure(paintForecasts);
  const note = make("p", { class: "note" });
  body.append(
    make(
      "div",
      { class: "columns" },
      make(
        "div",
        {},
        make(
          "h3",
          {},
          data.range_known
            ? "Coverage with the first policies"
            : "Mean best return with the first policies",
        ),
        rise,
      ),
      make("div", {}, make("h3", {}, "Forecasts: predicted and real gains"), forecasts, note),
    ),
  );
  return () => {
    rise.redraw();
    forecasts.hidden = !forecastPairs().length;
    forecasts.redraw();
    note.textContent = forecastNote();
  };
}

const finishedPolicies = () => data.rows.policies.map((id) => data.policies[id]);
const level = (value) => (data.range_known ? share(value) : value);

function paintRise(place, width) {
  const finished = finishedPolicies();
  const points = finished
    .map((policy, i) => [i + 1, level(policy.performance)])
    .filter(([, y]) => known(y));
  const series = [
    {
      name: "",
      points,
      colour: "var(--accent)",
      width: 2.5,
      marks: (i) => (finished[i].kind === "whole" ? "square" : "circle"),
    },
  ];
  const last = points[points.length - 1];
  if (known(data.next_gain) && last) {
    const added = data.range_known
      ? data.next_gain / (data.returns[1] - data.returns[0])
      : data.next_gain;
    series.push({
      name: "next",
      colour: "var(--accent)",
      dash: "3 4",
      width: 1.5,
      points: [last, [last[0] + 1, last[1] + added]],
      marks: (i) => (i ? "open" : null),
    });
  }
  const guides = [];
  if (known(data.random)) guides.push({ y: level(data.random), label: "random actions" });
  if (data.best_single && finished.length > 1)
    guides.push({
      y: level(data.best_single.performance),
      label: `policy ${data.best_single.id} alone`,
    });
  lineChart(place, width, series, {
    x: { label: "policies", integer: true, low: Math.min(1, points.length) },
    y: { label: levelName() },
    guides,
    label: `${levelName()} by number of policies.`,
    describe: (one, [, y], index) => {
      if (one.name === "next") return index ? [`Next policy: ${number(y)} predicted`] : null;
      const policy = finished[index];
      return [
        `Policy ${policy.id}: ${levelName()} ${number(y)}`,
        policy.trained_on,
        `Expected ${gainText(policy.expected_gain)}, added ${gainText(policy.gain)}`,
      ];
    },
  });
}

function forecastPairs() {
  return finishedPolicies().filter((policy) => known(policy.expected_gain) && known(policy.gain));
}

function forecastNote() {
  const pairs = forecastPairs();
  if (!pairs.length) return "No forecast has been tested.";
  return "Circles: predicted before training. Dots: what came.";
}

function paintForecasts(place, width) {
  const pairs = forecastPairs();
  const scale = data.range_known ? 100 / (data.returns[1] - data.returns[0]) : 1;
  const expected = pairs.map((policy, i) => [i, scale * policy.expected_gain]);
  const came = pairs.map((policy, i) => [i, scale * policy.gain]);
  const every = Math.max(1, Math.ceil(pairs.length / Math.max(1, Math.floor(width / 40))));
  const links = pairs.map((_, i) => ({
    name: "",
    points: [expected[i], came[i]],
    colour: "var(--line)",
    width: 3,
    describe: null,
  }));
  lineChart(
    place,
    width,
    [
      ...links,
      {
        name: "expected",
        points: expected,
        colour: "var(--muted)",
        opacity: 0,
        marks: () => "open",
      },
      { name: "came", points: came, colour: "var(--accent)", opacity: 0, marks: () => "circle" },
    ],
    {
      x: {
        label: "policy",
        low: -0.5,
        high: Math.max(pairs.length - 0.5, 0.5),
        ticks: pairs
          .map((policy, i) => ({ at: i, text: String(policy.id) }))
          .filter((_, i) => i % every === 0),
      },
      y: { label: data.range_known ? "points of coverage" : "rise of the mean best return" },
      guides: [{ y: 0, label: "" }],
      label: "Predicted and real gains by policy.",
      describe: (one, _, index) => {
        const policy = pairs[index];
        return [
          `Policy ${policy.id}`,
          `Expected ${gainText(policy.expected_gain)}, added ${gainText(policy.gain)}`,
          policy.trained_on,
        ];
      },
    },
  );
}

// -- learning curves --------------------------------------------------------------------------

function buildCurves() {
  const { body } = section(
    "curves",
    "Learning curves",
    "Mean return on the contexts that a policy is trained on, against its environment steps.",
    { short: "Learning" },
  );
  const picture = figure(paintCurves);
  const chips = make("ul", { class: "legend" });
  body.append(picture, make("div", { css: { height: ".8rem" } }), chips);
  const update = () => {
    const trained = data.policies.filter((policy) => policy.curve.length);
    const chip = (policy) => {
      const choose = () => {
        state.shown = state.shown === policy.id ? null : policy.id;
        update();
      };
      const pressed = state.shown === policy.id,
        colour = colourOf(rowOf[policy.id]);
      return choosingChip(
        chips,
        `curve-${policy.id}`,
        { pressed, colour, choose },
        String(policy.id),
      );
    };
    put(chips, ...(trained.length > 1 ? trained : []).map(chip));
    picture.redraw();
  };
  return update;
}

function paintCurves(place, width) {
  const trained = data.policies.filter((policy) => policy.curve.length);
  const few = trained.length <= 14;
  const series = trained.map((policy) => {
    const apart = state.shown !== null && state.shown !== policy.id;
    return {
      name: policy.id,
      points: policy.curve,
      colour: colours[rowOf[policy.id]] || "var(--muted)",
      opacity: apart ? 0.15 : 1,
      width: state.shown === policy.id ? 3.5 : 2,
      label: few || state.shown === policy.id ? String(policy.id) : null,
      marks: policy.curve.length === 1 ? () => "circle" : null,
      describe: apart ? null : undefined,
    };
  });
  lineChart(place, width, series, {
    height: 320,
    x: { label: "environment steps", low: 0 },
    y: { label: "mean return" },
    label: "Learning curves.",
    describe: (one, [steps, value]) => [
      `Policy ${one.name}: ${number(value)}`,
      `after ${whole(steps)} steps`,
      data.policies[one.name].trained_on,
    ],
  });
}

// -- what went wrong, and how to do it again --------------------------------------------------

function buildFailures() {
  const { body } = section(
    "failures",
    "What went wrong",
    "Errors of training runs and evaluations, as they were recorded.",
    { short: "Failures", long: true },
  );
  return () =>
    put(
      body,
      ...data.failures.map((failure) =>
        make(
          "div",
          { class: "failure" },
          make("strong", {}, `Policy ${failure.policy}, ${failure.what}`),
          make("pre", {}, failure.error),
        ),
      ),
      data.more_failures ? make("p", { class: "note" }, `And ${data.more_failures} more.`) : "",
    );
}

const definitions = (entries) =>
  make(
    "dl",
    {},
    Object.entries(entries).map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
  );

function buildSettings() {
  const { body } = section("settings", "Settings, and how to do it again", "", {
    short: "Settings",
    long: true,
  });
  return () => {
    const again = data.reproduction;
    const command =
      again.command === null
        ? [
            make(
              "p",
              {},
              `No command makes this study. ${again.why_not} Its whole configuration is below.`,
            ),
          ]
        : [
            make(
              "p",
              {},
              "This command makes the same study; it reads the file space.toml beside it.",
            ),
            make("pre", { id: "command" }, again.command),
            foldable("space-file", "space.toml", make("pre", {}, again.space_file)),
          ];
    put(
      body,
      ...command,
      foldable(
        "summary",
        "Where it stands, in words",
        make(
          "ul",
          {},
          data.summary.map((line) => make("li", {}, line)),
        ),
      ),
      foldable("settings", "Settings", definitions(data.settings)),
      foldable("versions", "Versions", definitions(data.versions)),
      foldable("configuration", "Configuration", make("pre", {}, again.configuration)),
    );
  };
}
