// Numbers as text, axes and colours.

// Matplotlib's cividis, from low to high.
const RAMP = [
  "#00224e",
  "#083370",
  "#35456c",
  "#4f576c",
  "#666970",
  "#7d7c78",
  "#948e77",
  "#aea371",
  "#c8b866",
  "#e5cf52",
  "#fee838",
].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));

function ramp(share) {
  const at = clamp(share, 0, 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(at), RAMP.length - 2);
  return RAMP[low].map((value, i) => Math.round(value + (at - low) * (RAMP[low + 1][i] - value)));
}
const rampText = (share) => `rgb(${ramp(share).join(" ")})`;

const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

function number(value, digits = 4) {
  if (!known(value)) return "–";
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  if (size && (size >= 1e6 || size < 1e-4)) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}
const whole = (value) => (known(value) ? Math.round(value).toLocaleString("en") : "–");
const counted = (count, noun, plural) => `${count} ${count === 1 ? noun : plural || `${noun}s`}`;
const signed = (value, digits) =>
  known(value) ? (value >= 0 ? "+" : "−") + Math.abs(value).toFixed(digits) : "–";

// Round numbers from a lowest to a highest one.
function ticks(low, high, most, integer) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  if (integer) step = Math.max(1, Math.round(step));
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1)
    found.push(i * step);
  return found;
}

// Returns as shares of the range that the study has.
const share = (value) => {
  if (!known(value) || !data.returns) return null;
  const [low, high] = data.returns;
  return (value - low) / (high - low);
};
// A difference of returns in the unit of the page: points of coverage, or returns.
function gainText(gain) {
  if (!known(gain)) return "–";
  if (!data.range_known) return (gain >= 0 ? "+" : "−") + number(Math.abs(gain), 3);
  return `${signed((100 * gain) / (data.returns[1] - data.returns[0]), 1)} points`;
}
// A mean return on the axis of a figure: in percent, if the range of returns is known.
const level = (value) => (data.range_known ? 100 * share(value) : value);
const levelText = (value) => {
  if (!known(value)) return "–";
  return data.range_known ? `${level(value).toFixed(1)} %` : number(value);
};
const levelName = () => (data.range_known ? "coverage (%)" : "mean best return");
