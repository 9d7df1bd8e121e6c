// What was trained, and why: a table; what chose it: a strip and the scores of the models.

const MOST_POLICIES = 12;

function badge(policy) {
  const colour = colours[rowOf[policy.id]];
  return make(
    "span",
    { class: colour ? "badge" : "badge unused", css: colour ? { background: colour } : {} },
    String(policy.id),
  );
}

function policyRow(policy, place, served) {
  const row = rowOf[policy.id],
    serves = row === undefined ? null : served[row];
  const from = policy.parent === null ? "from scratch" : `from policy ${policy.parent}`;
  const cell = (label, text) => make("td", { class: "number", "data-label": label }, text);
  const more = policyDetails(policy);
  return make(
    "tr",
    { class: place >= MOST_POLICIES ? "extra" : null },
    make("td", { class: "words" }, badge(policy)),
    make(
      "td",
      { class: "words source" },
      make("strong", {}, policy.trained_on),
      make("br", {}),
      make(
        "span",
        { class: "why" },
        `${from}${policy.steps ? `, ${whole(policy.steps)} steps` : ""}`,
      ),
    ),
    make(
      "td",
      { class: "words" },
      make("span", { class: "why" }, policy.reason || `Chosen by ${policy.chosen_by}.`),
      policy.remarks.map((remark) => make("p", { class: "remark" }, remark)),
      more,
    ),
    cell("Expected", gainText(policy.expected_gain)),
    cell("Added", policy.status === "finished" ? gainText(policy.gain) : policy.status),
    cell(
      data.range_known ? "Coverage" : "Mean best",
      policy.status === "finished" ? levelText(policy.performance) : "–",
    ),
    make(
      "td",
      { class: "number", "data-label": "Serves" },
      make(
        "span",
        {},
        serves === null ? "–" : counted(serves, "target"),
        serves === null
          ? null
          : make(
              "span",
              { class: "bar-track" },
              make("span", {
                class: "bar-fill",
                css: {
                  width: `${(100 * serves) / data.space.targets}%`,
                  background: colourOf(row),
                },
              }),
            ),
      ),
    ),
  );
}

function policyDetails(policy) {
  const entries = [
    ["chosen by", policy.chosen_by],
    ["return where trained", number(policy.own_return)],
    ["structure", policy.structure],
    ["model", policy.model],
    ...Object.entries(policy.numbers).map(([name, value]) => [
      name.replaceAll("_", " "),
      number(value),
    ]),
    ...Object.entries(policy.scores).map(([name, value]) => [`score of ${name}`, number(value, 2)]),
    ...Object.entries(policy.seconds).map(([name, value]) => [name, `${number(value, 3)} s`]),
    ...Object.entries(policy.attributes),
  ].filter(([, value]) => value !== null && value !== "–");
  return foldable(
    `policy-${policy.id}`,
    "Numbers",
    make(
      "dl",
      {},
      entries.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
    ),
  );
}

function buildPolicies() {
  const { body } = section(
    "policies",
    "What was trained, and why",
    data.range_known
      ? "Expected and added: points of coverage, hundredths of the range of returns."
      : "Expected and added: rise of the mean best return.",
    { short: "Policies", long: true },
  );
  const headers = [
    "",
    "Trained on",
    "Why",
    "Expected",
    "Added",
    data.range_known ? "Coverage" : "Mean best",
    "Serves",
  ];
  const rows = make("tbody", {});
  const table = make(
    "table",
    { class: "policies" },
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        headers.map((text, i) =>
          make("th", { scope: "col", class: i > 2 ? "number" : null }, text),
        ),
      ),
    ),
    rows,
  );
  const more = make("button", {
    type: "button",
    class: "more",
    on: {
      click: () => {
        state.allPolicies = true;
        update();
      },
    },
  });
  body.append(make("div", { class: "scroll" }, table), make("p", { class: "more" }, more));
  function update() {
    const served = servedBy(standing(returns.length).who);
    put(rows, ...data.policies.map((policy, place) => policyRow(policy, place, served)));
    table.classList.toggle("all", state.allPolicies);
    more.hidden = state.allPolicies || data.policies.length <= MOST_POLICIES;
    more.textContent = `Show all ${data.policies.length}`;
  }
  return update;
}

// -- what chose ---------------------------------------------------------------------------------

function buildChoices() {
  const { body, text } = section("choices", "What chose them", "", { short: "Choices" });
  return () => {
    text.textContent = choicesLead();
    const kinds = [...new Set(data.policies.map((policy) => policy.chosen_by))];
    const colour = (kind) => POLICY_COLOURS[kinds.indexOf(kind) % POLICY_COLOURS.length];
    const show = (policy) => (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      showTip([`Policy ${policy.id}: ${policy.chosen_by}`, policy.reason], box.left, box.bottom);
    };
    put(
      body,
      make(
        "div",
        { class: "strip" },
        data.policies.map((policy) =>
          make(
            "button",
            {
              type: "button",
              "aria-label": `Policy ${policy.id}: ${policy.chosen_by}. ${policy.reason}`,
              css: { background: colour(policy.chosen_by) },
              on: {
                pointerenter: show(policy),
                focus: show(policy),
                pointerleave: hideTip,
                blur: hideTip,
              },
            },
            String(policy.id),
          ),
        ),
      ),
      make(
        "ul",
        { class: "legend" },
        kinds.map((kind) =>
          make(
            "li",
            { class: "chip" },
            make("span", { class: "swatch", css: { background: colour(kind) } }),
            `${kind}: ${counted(data.policies.filter((policy) => policy.chosen_by === kind).length, "policy", "policies")}`,
          ),
        ),
      ),
      scoreTable(),
      numbersTable(),
    );
  };
}

function choicesLead() {
  const parts = [
    "Each block is a policy, in order; its colour is the strategy or the model that chose it.",
  ];
  if (data.structure) parts.push(`Detected now: ${data.structure}.`);
  const models = Object.entries(data.mean_scores).sort((a, b) => b[1] - a[1]);
  if (models.length) {
    parts.push(
      "Every model predicted each policy before it was trained. Score: how well it predicted where that policy would improve on the best so far, 0 to 1. " +
        `Highest mean: ${models[0][0]}, ${models[0][1].toFixed(2)}. A star marks the model that chose.`,
    );
  }
  return parts.join(" ");
}

// A table with a column for each policy; rows are elements.
function roundsTable(heads, policies, rows) {
  const [first, ...others] = [...heads, ...policies.map((policy) => String(policy.id))];
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, first),
    others.map((text) => make("th", { class: "number", scope: "col" }, text)),
  );
  const table = make(
    "table",
    { class: "heat" },
    make("thead", {}, head),
    make("tbody", {}, rows),
  );
  return make("div", { class: "scroll" }, table);
}

// The figures behind the reasons, by round: the evidence for a structure among them.
function numbersTable() {
  const names = [...new Set(data.policies.flatMap((policy) => Object.keys(policy.numbers)))];
  const chosen = data.policies.filter((policy) => Object.keys(policy.numbers).length);
  if (!names.length) return "";
  const row = (name, value) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, name),
      chosen.map((policy) => make("td", {}, value(policy))),
    );
  const rows = [
    row("structure", (policy) => policy.structure || "–"),
    names.map((name) =>
      row(name.replaceAll("_", " "), (policy) => number(policy.numbers[name], 3)),
    ),
  ];
  return foldable(
    "numbers",
    "The numbers behind the choices",
    roundsTable(["Policy"], chosen, rows),
  );
}

function scoreTable() {
  const models = Object.keys(data.mean_scores);
  if (!models.length) return "";
  const tested = data.policies.filter((policy) => Object.keys(policy.scores).length);
  const shaded = (value, text) =>
    make(
      "td",
      known(value) ? { css: { background: rampText(value), color: onRamp(value) } } : {},
      text,
    );
  const rows = models.map((model) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, model),
      shaded(data.mean_scores[model], data.mean_scores[model].toFixed(2)),
      tested.map((policy) => {
        const value = policy.scores[model];
        return shaded(
          value,
          known(value) ? value.toFixed(2) + (policy.model === model ? "*" : "") : "–",
        );
      }),
    ),
  );
  return roundsTable(["Model", "Mean"], tested, rows);
}
