// From the data to the figures, once and whenever there is news.

const MILLISECONDS_BETWEEN_NEWS = 2000;
const FIGURES = [
  [() => returns.length > 0, buildCoverage],
  [() => returns.length > 0, buildMap],
  [() => returns.length > 0, buildRows],
  [() => data.policies.some((policy) => curveOf(policy).length), buildCurves],
];

let updates = [];
let built = "";

function take(source) {
  data = JSON.parse(source.getElementById("data").textContent);
  prepareSpace();
  unpackRows();
  if (state.map === null || state.map.at.length !== data.space.dimensions.length)
    state.map = initialView();
  if (state.map.only !== null && state.map.only >= returns.length) state.map.only = null;
}

// Builds figures that were not there before; the others are drawn again in place.
function show() {
  const wanted = FIGURES.filter(([isWanted]) => isWanted());
  const signature = wanted.map(([, build]) => build.name).join();
  if (signature !== built || !byId("figures").children.length) {
    byId("figures").replaceChildren();
    updates = wanted.map(([, build]) => build());
    built = signature;
  }
  for (const update of updates) update();
}

// Takes all but the figures from a new copy of the page; the reader keeps the place and what is
// unfolded. The copy is parsed, and nothing in it is run.
function renew(page) {
  const seen = [...document.querySelectorAll("section")].find(
    (part) => part.getBoundingClientRect().bottom > 80,
  );
  const before = seen && [seen.id, seen.getBoundingClientRect().top];
  const keys = [...document.querySelectorAll("details[open]")].map((one) => one.dataset.key);
  const figures = byId("figures");
  const parts = [...page.querySelectorAll("main > *")];
  const main = byId("main");
  for (const old of [...main.children]) if (old !== figures) old.remove();
  let isBelow = false;
  for (const part of parts) {
    if (part.id === "figures") isBelow = true;
    else if (isBelow) main.append(part);
    else figures.before(part);
  }
  for (const one of document.querySelectorAll("details"))
    one.open = keys.includes(one.dataset.key);
  document.title = page.title;
  take(page);
  show();
  if (before && scrollY > 0 && byId(before[0]))
    scrollBy(0, byId(before[0]).getBoundingClientRect().top - before[1]);
}

async function askForNews() {
  let tag = null;
  const sign = byId("live");
  for (;;) {
    try {
      const headers = tag === null ? {} : { "If-None-Match": tag };
      const answer = await fetch("/", { headers, cache: "no-store" });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag");
        renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
      } else if (answer.status !== 304) throw new Error(String(answer.status));
      sign.textContent = data.running ? "● running" : "● live";
    } catch {
      sign.textContent = "○ not connected";
    }
    await new Promise((resolve) => {
      setTimeout(resolve, MILLISECONDS_BETWEEN_NEWS);
    });
  }
}

take(document);
show();
if (document.documentElement.dataset.live === "yes") askForNews();
