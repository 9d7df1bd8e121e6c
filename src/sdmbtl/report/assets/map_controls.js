// Controls of the part of the context space that is shown, and the text next to it.

function buildMap() {
  const body = section("space", "The context space", mapLead());
  const picture = figure(paintMap);
  const controls = make("div", { class: "controls" });
  const sliders = make("div", { class: "sliders" });
  const aside = make("div", {});
  body.append(
    make(
      "div",
      { class: "map-columns" },
      make("div", {}, controls, picture, sliders),
      aside,
    ),
  );
  const redraw = picture.redraw;
  const redrawAll = () => {
    buildControls(controls, sliders, redraw, redrawAll);
    redraw();
    paintAside(aside, redrawAll);
  };
  redrawAll();
  return () => {
    const slider = sliders.querySelector("[data-key='up-to']");
    if (slider) [slider.max, slider.value] = [String(returns.length), String(rowsShown())];
    else buildControls(controls, sliders, redraw, redrawAll);
    const note = sliders.querySelector("[data-key='up-to-text']");
    if (note) note.textContent = upToText();
    redraw();
    paintAside(aside, redrawAll);
  };
}

function mapLead() {
  const many = data.space.dimensions.length > 2;
  if (data.space.dimensions.length === 1)
    return "Each line is a policy. Marks at the bottom are the contexts and ranges that policies were trained on.";
  const what = isGrid() ? "Each cell is a task" : "Each dot is a task";
  return (
    `${what}. Its colour is the policy that does best there, whose number stands once in its area; hatched tasks are badly covered. ` +
    "Outlines and stars, with a number in the corner, show what the policies were trained on." +
    (many && isGrid() ? " The sliders choose the slice." : "")
  );
}

function buildControls(controls, sliders, redraw, redrawAll) {
  const names = data.space.dimensions.map((dimension) => dimension.name);
  controls.replaceChildren();
  if (names.length > 2) {
    for (const axis of ["x", "y"]) {
      const other = axis === "x" ? "y" : "x";
      controls.append(
        make(
          "label",
          {},
          axis === "x" ? "Across" : "Up",
          make(
            "select",
            {
              "data-key": `axis-${axis}`,
              on: {
                change: (event) => {
                  const chosen = Number(event.target.value);
                  if (state.map[other] === chosen) state.map[other] = state.map[axis];
                  state.map[axis] = chosen;
                  redrawAll();
                  controls.querySelector(`[data-key='axis-${axis}']`).focus();
                },
              },
            },
            names.map((name, d) =>
              make("option", { value: d, selected: d === state.map[axis] }, name),
            ),
          ),
        ),
      );
    }
  }
  sliders.replaceChildren();
  if (isGrid() && names.length > 2) {
    for (const d of hidden()) sliders.append(levelSlider(d, redraw));
  }
  if (returns.length > 1) sliders.append(roundSlider(redraw));
}

function levelSlider(d, redraw) {
  const text = make(
    "span",
    { "data-key": `at-${d}-text` },
    withUnit(d, valueAt(d, state.map.at[d])),
  );
  const input = make("input", {
    type: "range",
    min: 0,
    max: levels[d].length - 1,
    step: 1,
    value: state.map.at[d],
    "data-key": `at-${d}`,
    "aria-valuetext": withUnit(d, valueAt(d, state.map.at[d])),
    on: {
      input: (event) => {
        state.map.at[d] = Number(event.target.value);
        text.textContent = withUnit(d, valueAt(d, state.map.at[d]));
        event.target.setAttribute("aria-valuetext", text.textContent);
        redraw();
      },
    },
  });
  return make(
    "label",
    { class: "slider" },
    make("span", {}, data.space.dimensions[d].name),
    input,
    text,
  );
}

function upToText() {
  const rows = rowsShown();
  return `${rows} of ${returns.length}: ${levelText(mean(standing(rows).best))}`;
}

function roundSlider(redraw) {
  const text = make("span", { "data-key": "up-to-text" }, upToText());
  const input = make("input", {
    type: "range",
    min: 1,
    max: returns.length,
    step: 1,
    value: rowsShown(),
    "data-key": "up-to",
    on: {
      input: (event) => {
        const rows = Number(event.target.value);
        state.map.upTo = rows === returns.length ? null : rows; // the last place follows a running study
        text.textContent = upToText();
        redraw();
      },
    },
  });
  return make("label", { class: "slider" }, make("span", {}, "First policies"), input, text);
}

function paintAside(aside, redrawAll) {
  const now = standing(returns.length),
    served = servedBy(now.who);
  const chip = (row, text) => {
    const choose = () => {
      state.map.only = state.map.only === row ? null : row;
      redrawAll();
    };
    const colour = row === null ? null : colourOf(row);
    return choosingChip(
      aside,
      `only-${row}`,
      { pressed: state.map.only === row, colour, choose },
      text,
    );
  };
  const order = returns
    .map((_, row) => row)
    .filter((row) => served[row])
    .sort((a, b) => served[b] - served[a]);
  const hint =
    state.map.only === null
      ? "Choose a policy to see how well it does everywhere."
      : `Policy ${policyOf(state.map.only).id} alone, on every task: from low to high returns `;
  const name = (row) => [make("strong", {}, String(policyOf(row).id)), ` ${served[row]}`];
  put(
    aside,
    make("h3", {}, "Worst covered tasks"),
    make(
      "ul",
      { class: "worst" },
      data.gaps.worst.map((target) =>
        make(
          "li",
          {},
          make(
            "button",
            {
              type: "button",
              "data-key": `worst-${target}`,
              on: {
                click: () => {
                  if (isGrid()) state.map.at = placesOf(target);
                  state.map.upTo = null;
                  redrawAll();
                  aside
                    .querySelector(`[data-key='worst-${target}']`)
                    .focus({ preventScroll: true });
                },
              },
            },
            make("span", { class: "context" }, contextText(target)),
            make("span", {}, levelText(now.best[target])),
          ),
        ),
      ),
    ),
    data.gaps.limit === null
      ? null
      : make(
          "p",
          { class: "note" },
          make("span", { class: "swatch hatched" }),
          ` badly covered: a best return below ${number(data.gaps.limit)}`,
        ),
    make("h3", { css: { "margin-top": "1.6rem" } }, "Policies, and the number of tasks each is best for"),
    make(
      "ul",
      { class: "legend" },
      order.map((row) => chip(row, name(row))),
      state.map.only === null ? null : chip(null, "All"),
    ),
    make(
      "p",
      { class: "note" },
      hint,
      state.map.only === null ? null : make("span", { class: "ramp" }),
    ),
  );
}
