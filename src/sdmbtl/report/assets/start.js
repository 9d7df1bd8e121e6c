// From the data to the page, once and whenever there are news.

const MILLISECONDS_BETWEEN_NEWS = 2000;
const THEMES = { Auto: "as the system", Light: "light", Dark: "dark" };

let page = null;
let updates = [];
let built = "";

function take(news) {
  data = news;
  if (data.kind === "study") {
    prepareSpace();
    unpackRows();
    assignColours();
    if (state.map === null || state.map.at.length !== data.space.dimensions.length)
      state.map = initialView();
    if (state.map.only !== null && state.map.only >= returns.length) state.map.only = null;
  }
}

// Builds what was not there before; what is there is updated in place.
function show() {
  if (page === null || page.signature() !== built) {
    byId("main").replaceChildren();
    byId("nav").replaceChildren();
    page = data.kind === "study" ? buildStudy() : buildBenchmark();
    built = page.signature();
    updates = [
      ...page.parts,
      ...page.lazily.filter(([wanted]) => wanted()).map(([, build]) => build()),
    ];
  }
  for (const update of updates) update();
  const parts = [`Made by sdmbtl ${data.version}`, data.made].filter(Boolean);
  byId("foot").textContent = `${parts.join(", ")}.`;
}

// News change the page above the reader too: what is being read stays where it is.
function keepingPlace(change) {
  const seen = [...document.querySelectorAll("section")].find(
    (part) => part.getBoundingClientRect().bottom > 80,
  );
  const before = seen && [seen.id, seen.getBoundingClientRect().top];
  const focused = document.activeElement && document.activeElement.dataset.key;
  const smooth = document.documentElement.style.scrollBehavior;
  document.documentElement.style.scrollBehavior = "auto";
  change();
  if (before && scrollY > 0 && byId(before[0]))
    scrollBy(0, byId(before[0]).getBoundingClientRect().top - before[1]);
  document.documentElement.style.scrollBehavior = smooth;
  const again = focused && document.querySelector(`[data-key="${CSS.escape(focused)}"]`);
  if (again && again !== document.activeElement) again.focus({ preventScroll: true });
}

function chooseTheme() {
  const button = byId("theme"),
    names = Object.keys(THEMES);
  button.addEventListener("click", () => {
    const next = names[(names.indexOf(button.textContent) + 1) % names.length];
    button.textContent = next;
    button.setAttribute("aria-label", `Colours: ${THEMES[next]}`);
    if (next === "Auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next.toLowerCase();
  });
}

async function askForNews() {
  let tag = null;
  const sign = byId("live");
  for (;;) {
    try {
      const answer = await fetch("data.json", {
        headers: tag === null ? {} : { "If-None-Match": tag },
        cache: "no-store",
      });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag");
        const news = await answer.json();
        keepingPlace(() => {
          take(news);
          show();
        });
      } else if (answer.status !== 304) throw new Error(String(answer.status));
      sign.textContent = data.running ? "● running" : "● live";
      sign.className = "";
    } catch {
      sign.textContent = "○ not connected";
      sign.className = "lost";
    }
    await new Promise((resolve) => {
      setTimeout(resolve, MILLISECONDS_BETWEEN_NEWS);
    });
  }
}

take(JSON.parse(byId("data").textContent));
chooseTheme();
show();
if (document.documentElement.dataset.live === "yes") askForNews();
