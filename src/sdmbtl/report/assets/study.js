// Coverage by policies, and learning curves.

const finishedPolicies = () => data.rows.policies.map((id) => data.policies[id]);

function buildCoverage() {
  const body = section(
    "coverage",
    `${data.range_known ? "Coverage" : "Mean best return"} with the first policies`,
    "With each policy, the best one for every task counts.",
  );
  const picture = figure(paintCoverage);
  const mark = (shape) => make("span", { class: `mark ${shape}` });
  body.append(
    picture,
    make("p", { class: "note" }, mark("square"), " generalist, for the whole space ", mark("circle"), " specialist"),
  );
  return picture.redraw;
}

function paintCoverage(place, width) {
  const finished = finishedPolicies();
  const points = finished
    .map((policy, i) => [i + 1, level(policy.performance)])
    .filter(([, y]) => known(y));
  const marks = (i) => (finished[i].kind === "whole" ? "square" : "circle");
  const guides = [];
  if (known(data.best_single) && finished.length > 1)
    guides.push({ y: level(data.best_single), label: "best single policy" });
  const markColour = (i) => finished[i].colour;
  lineChart(place, width, [{ points, colour: "var(--muted)", width: 1.5, marks, markColour }], {
    x: { label: "policies", integer: true, low: Math.min(1, points.length) },
    y: { label: levelName() },
    guides,
    label: `${levelName()} by number of policies.`,
    describe: (one, _, index) => [
      `Policy ${finished[index].id}: ${levelText(finished[index].performance)}`,
      finished[index].trained_on,
      `Expected ${gainText(finished[index].expected_gain)}, gain ${gainText(finished[index].gain)}`,
    ],
  });
}

// The curve of a policy; of the one in training, as far as it is.
const curveOf = (policy) =>
  data.progress && data.progress.policy === policy.id ? data.progress.curve : policy.curve;

// Lines of several policies: a chip for each chooses the one that stands out.
function buildCurves() {
  const body = section(
    "curves",
    "Learning curves",
    "Mean return on the contexts that a policy is trained on, against its environment steps.",
  );
  const picture = figure(paintCurves),
    chips = make("ul", { class: "legend" });
  body.append(picture, chips);
  const update = () => {
    const trained = data.policies.filter((policy) => curveOf(policy).length);
    const chip = (policy) => {
      const choose = () => {
        state.shown = state.shown === policy.id ? null : policy.id;
        update();
      };
      const pressed = state.shown === policy.id;
      const look = { pressed, colour: policy.colour, choose };
      return choosingChip(chips, `curve-${policy.id}`, look, String(policy.id));
    };
    put(chips, ...(trained.length > 1 ? trained : []).map(chip));
    picture.redraw();
  };
  return update;
}

function paintCurves(place, width) {
  const trained = data.policies.filter((policy) => curveOf(policy).length);
  const few = trained.length <= 14;
  const series = trained.map((policy) => {
    const apart = state.shown !== null && state.shown !== policy.id;
    return {
      name: policy.id,
      points: curveOf(policy),
      colour: policy.colour,
      opacity: apart ? 0.15 : 1,
      width: state.shown === policy.id ? 3.5 : policy.id < 6 ? 2.2 : 1,
      label: few || state.shown === policy.id ? String(policy.id) : null,
      marks: curveOf(policy).length === 1 ? () => "circle" : null,
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
