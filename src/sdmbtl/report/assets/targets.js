// What is known of the targets: their contexts, and the returns of every policy on them.

let returns = null; // returns[row][target]
let rowOf = {}; // id of a policy -> its row

function unpackRows() {
  const { low, high, policies } = data.rows;
  const bytes = Uint8Array.from(atob(data.rows.data), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const n = data.space.targets;
  returns = policies.map((_, row) =>
    Float64Array.from({ length: n }, (_, target) => {
      const step = view.getUint16(2 * (row * n + target), true);
      return step === 65535 ? NaN : low * (1 - step / 65534) + high * (step / 65534);
    }),
  );
  rowOf = Object.fromEntries(policies.map((id, row) => [id, row]));
}

// The best return on each target with the first policies, and the row of the policy that has it.
function standing(rows) {
  const n = data.space.targets;
  const best = new Float64Array(n).fill(NaN),
    who = new Int32Array(n).fill(-1);
  for (let row = 0; row < rows; row += 1) {
    for (let target = 0; target < n; target += 1) {
      const value = returns[row][target];
      if (!Number.isNaN(value) && !(value <= best[target]))
        [best[target], who[target]] = [value, row];
    }
  }
  return { best, who };
}

// Mean over the targets, by their weights.
function mean(values) {
  let [sum, total] = [0, 0];
  values.forEach((value, target) => {
    if (Number.isNaN(value)) return;
    const weight = data.space.weights ? data.space.weights[target] : 1;
    [sum, total] = [sum + weight * value, total + weight];
  });
  return total ? sum / total : NaN;
}

// Number of targets that each row is best on.
function servedBy(who) {
  const counts = new Array(returns.length).fill(0);
  for (const row of who) if (row >= 0) counts[row] += 1;
  return counts;
}

const policyOf = (row) => data.policies[data.rows.policies[row]];
const colourOf = (row) => policyOf(row).colour;
// Whether the policy of a row is the best one on some target, of all policies.
const isServing = (row) => policyOf(row).serves > 0;

const isBad = (value) => known(data.gaps.limit) && value < data.gaps.limit;

// -- contexts ---------------------------------------------------------------------------------

// Levels of each dimension of a grid from low to high, as places in the order of the targets.
const sortedLevels = () =>
  data.space.dimensions.map(
    (dimension) =>
      dimension.values &&
      dimension.values.map((_, i) => i).sort((a, b) => dimension.units[a] - dimension.units[b]),
  );
let levels = [];
let strides = [];

function prepareSpace() {
  levels = sortedLevels();
  strides = [];
  let stride = 1;
  for (let d = levels.length - 1; d >= 0; d -= 1) {
    strides[d] = stride;
    stride *= levels[d] ? levels[d].length : 1;
  }
}

const isGrid = () => data.space.points === null;
// The target of a grid at these places on the axes.
const targetAt = (places) =>
  places.reduce((sum, place, d) => sum + strides[d] * levels[d][place], 0);
// The places on the axes of a target of a grid.
const placesOf = (target) =>
  levels.map((order, d) => order.indexOf(Math.floor(target / strides[d]) % order.length));
const valueAt = (d, place) => data.space.dimensions[d].values[levels[d][place]];
const unitAt = (d, place) => data.space.dimensions[d].units[levels[d][place]];

function contextOf(target) {
  const places = isGrid() ? placesOf(target) : null;
  return data.space.dimensions.map((_, d) =>
    places ? valueAt(d, places[d]) : data.space.points[target][d],
  );
}
const withUnit = (d, value, digits) =>
  number(value, digits) +
  (data.space.dimensions[d].unit ? ` ${data.space.dimensions[d].unit}` : "");
const contextText = (target) =>
  contextOf(target)
    .map((value, d) => `${data.space.dimensions[d].name} ${withUnit(d, value)}`)
    .join(", ");

function describeTarget(target, { best, who }, only) {
  const lines = [contextText(target)];
  if (only !== null) {
    lines.push(`Policy ${data.rows.policies[only]}: ${returnText(returns[only][target])}`);
  }
  if (who[target] < 0) return [...lines, "Not evaluated."];
  lines.push(`Best: policy ${data.rows.policies[who[target]]}, ${returnText(best[target])}`);
  if (isBad(best[target])) lines.push("Badly covered.");
  const others = returns
    .map((values, row) => [row, values[target]])
    .filter(([row, value]) => row !== who[target] && row !== only && !Number.isNaN(value))
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3);
  if (others.length) {
    lines.push(
      `Others: ${others.map(([row, value]) => `${data.rows.policies[row]} (${number(value)})`).join(", ")}`,
    );
  }
  return lines;
}
const returnText = (value) => {
  if (Number.isNaN(value)) return "not evaluated";
  const part = share(value);
  if (part === null) return `return ${number(value)}`;
  return `return ${number(value)} (${(100 * part).toFixed(1)} %)`;
};
