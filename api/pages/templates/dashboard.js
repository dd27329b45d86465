"use strict";
const MAX_SAMPLES = 121, WINDOW = 10, samples = [];  // one sample per second; rates are over WINDOW seconds
const put = (id, text) => { document.getElementById(id).textContent = text; };
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = value => value >= 100 ? number.format(value) : value >= 1 ? value.toFixed(1) : value ? value.toFixed(2) : "0";
const time = seconds => seconds === null ? "–" : seconds < 1 ? short(1000 * seconds) + " ms" : short(seconds) + " s";
const size = bytes => bytes >= 1e9 ? short(bytes / 1e9) + " GB" : short(bytes / 1e6) + " MB";
const sum = values => values.reduce((total, value) => total + value, 0);

// Counts requests, failures and durations between two samples, by route.
function between(old, now) {
  const routes = {};
  for (const [place, counts] of Object.entries(now.places)) {
    const before = old.places[place] || { statuses: {}, buckets: [] };
    const statuses = Object.entries(counts.statuses).map(([status, n]) => [status, n - (before.statuses[status] || 0)]);
    routes[place] = {
      requests: sum(statuses.map(([, n]) => n)),
      failures: sum(statuses.filter(([status]) => status >= "500").map(([, n]) => n)),
      all: sum(Object.values(counts.statuses)),
      buckets: counts.buckets.map((n, i) => n - (before.buckets[i] || 0)),
    };
  }
  return routes;
}

// Estimates a quantile as Prometheus does: linear interpolation in the bucket that contains it.
function quantile(share, buckets, bounds) {
  const all = sum(buckets);
  if (!all) return null;
  let before = 0;
  for (let i = 0; i < buckets.length; i++) {
    if (before + buckets[i] >= share * all) {
      if (i === bounds.length) return bounds[i - 1];
      const low = i ? bounds[i - 1] : 0;
      return low + (bounds[i] - low) * (share * all - before) / (buckets[i] || 1);
    }
    before += buckets[i];
  }
  return null;
}
const sumBuckets = routes => Object.values(routes).reduce((total, route) => route.buckets.map((n, i) => n + (total[i] || 0)), []);

function draw(id, lines, form, slots) {
  const svg = document.getElementById(id), wide = svg.clientWidth || 400, high = svg.clientHeight || 140, left = 52, low = high - 6;
  const peak = Math.max(1e-9, ...lines.flat().filter(value => value !== null)), hasValues = lines.flat().some(value => value);
  const scale = 10 ** Math.floor(Math.log10(peak)), top = [1, 2, 5, 10].map(n => n * scale).find(n => n >= peak) || peak;
  const element = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  const parts = [];
  for (const share of [0, .5, 1]) {
    const y = low - share * (low - 10);
    parts.push(element("line", { class: "grid", x1: left, x2: wide, y1: y, y2: y }));
    parts.push(element("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, share && !hasValues ? "" : form(share * top)));
  }
  lines.forEach((values, line) => {
    let path = "", open = false;
    values.forEach((value, index) => {
      if (value === null || value === undefined) { open = false; return; }
      const x = wide - (values.length - 1 - index) * (wide - left) / (slots - 1), y = low - value / top * (low - 10);
      // A step of no length makes a lone value a dot.
      path += `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}${open ? "" : "h.1"}`;
      open = true;
    });
    parts.push(element("path", { class: ["one", "two"][line], d: path }));
  });
  svg.replaceChildren(...parts);
}

function row(cells, kind = "td") {
  const line = document.createElement("tr");
  for (const text of cells) line.appendChild(document.createElement(kind)).textContent = text;
  return line;
}

const fill = (id, rows) => document.getElementById(id).replaceChildren(...rows.map(cells => row(cells)));

function list(id, entries) {
  const lines = (entries.length ? entries : [["none", ""]]).map(([text, figure]) => {
    const entry = document.createElement("li");
    entry.textContent = text + " ";
    entry.appendChild(document.createElement("span")).textContent = figure;
    return entry;
  });
  document.getElementById(id).replaceChildren(...lines);
}

const ago = seconds => seconds < 1.5 ? "now" : seconds < 120 ? `${number.format(seconds)} s ago` : seconds < 7200 ? `${number.format(seconds / 60)} min ago` : `${number.format(seconds / 3600)} h ago`;

function describeIngest(now) {
  const { reading, waiting, building, catalog_changed: changed } = now.ingest;
  const work = [[reading, "being read"], [waiting, "waiting to be imported"], [building, "shards or snapshots being built"]].filter(([n]) => n);
  const state = work.length ? work.map(([n, text]) => `${number.format(n)} ${text}`).join(", ") : "Nothing is being ingested";
  return `${state}. ${changed ? `The catalog changed ${ago(now.now - changed)}.` : "There is no catalog."}`;
}

function show() {
  const now = samples[samples.length - 1], old = samples[Math.max(0, samples.length - 1 - WINDOW)];
  const world = now.world;
  put("served", world.snapshot ? `${world.collection} · ${number.format(world.documents)} pages · snapshot ${world.snapshot}` : "no snapshot yet");
  put("sessions", number.format(now.sessions));
  put("memory", size(now.resident_bytes));
  const lookups = now.cache.hits + now.cache.misses;
  put("cache", lookups ? short(100 * now.cache.hits / lookups) + " %" : "–");
  list("queries", now.queries.map(([text, n]) => [text, number.format(n)]));
  list("vain-searches", now.vain.search.map(([text, n]) => [text, number.format(n)]));
  list("vain-urls", now.vain.url.map(([text, n]) => [text, number.format(n)]));
  list("slow", now.slow.map(one => [`${one.route} ${one.path === one.route ? "" : one.path}`, `${time(one.ms / 1000)}, ${ago(now.now - one.time)}`]));
  showSessions(now);
  showPlaces(now);
  put("ingest", describeIngest(now));
  if (chosen() === "hour") drawHour(now);
  if (now === old) return;
  const seconds = (now.at - old.at) / 1000, routes = between(old, now), all = sumBuckets(routes);
  put("rate", short(sum(Object.values(routes).map(route => route.requests)) / seconds));
  put("failures", short(sum(Object.values(routes).map(route => route.failures)) / seconds));
  put("p50", time(quantile(.5, all, now.bounds)));
  put("p99", time(quantile(.99, all, now.bounds)));
  put("cpu", `${((now.cpu_seconds - old.cpu_seconds) / seconds).toFixed(2)} cores`);
  const places = Object.entries(routes).sort(([a, first], [b, second]) => second.requests - first.requests || second.all - first.all || (a < b ? -1 : 1));
  fill("places", places.map(([place, route]) => [
    place, short(route.requests / seconds), time(quantile(.5, route.buckets, now.bounds)), time(quantile(.99, route.buckets, now.bounds)),
    short(route.failures / seconds), number.format(route.all)]));
  if (chosen() === "live") drawLive(now);
}

// Writes the sessions anew only where something changed, so that the keyboard stays where it is.
let sessionText = "";
function showSessions(now) {
  const cells = now.recent_sessions.map(([name, seen]) => [name, number.format(seen.requests), ago(now.now - seen.last_time)]);
  const text = JSON.stringify(cells);
  if (text === sessionText) return;
  sessionText = text;
  const focused = document.activeElement.dataset.session;
  const rows = cells.map(([name, requests, last]) => {
    const line = row(["", requests, last]), button = document.createElement("button");
    button.type = "button";
    button.textContent = button.dataset.session = name;
    button.addEventListener("click", () => openSession(name));
    line.firstChild.appendChild(button);
    return line;
  });
  document.getElementById("session-rows").replaceChildren(...rows);
  if (focused) rows.map(line => line.querySelector("button")).find(button => button.dataset.session === focused)?.focus();
}

// The requests of one session, from its ledger; the newest ones if there are many.
const MAX_STEPS = 200;
let openName = "";
async function openSession(name) {
  openName = name;
  document.getElementById("session").hidden = false;
  put("session-name", name);
  put("session-state", "reading its ledger");
  document.getElementById("session-steps").replaceChildren();
  await readSession();
  document.getElementById("session").scrollIntoView({ block: "nearest" });
}
async function readSession() {
  const name = openName, address = `/v1/sessions/${encodeURIComponent(name)}`;
  const ask = async query => {
    const answer = await fetch(address + query, { cache: "no-store" });
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  };
  const head = await ask("?from=1&limit=1");
  const report = head && head.steps > 1 ? await ask(`?from=${Math.max(1, head.steps - MAX_STEPS + 1)}&limit=${MAX_STEPS}`) : head;
  if (name !== openName) return;
  if (!report) { put("session-state", "This session was not opened by POST /v1/sessions, so that no ledger has its requests."); return; }
  const policy = Object.entries(report.policy).map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(", ") || "no policy";
  const spent = Object.entries(report.spent).filter(([, n]) => n).map(([kind, n]) => `${kind} ${number.format(n)}`).join(", ");
  const cut = report.steps > report.requests.length ? `, the last ${number.format(report.requests.length)} below` : "";
  put("session-state", `${number.format(report.steps)} requests${cut}; spent: ${spent || "nothing"}; ${policy}`);
  fill("session-steps", report.requests.map(step => [
    step.searches.map(search => search.query).join(" | ") || step.url, step.step, step.service, step.status || "none", number.format(step.bytes),
    [...step.weather, ...(step.failed ? ["server failed"] : []), ...(step.attempt ? ["repeated"] : [])].join(", ")]).reverse());
}
document.getElementById("session-close").addEventListener("click", () => {
  document.getElementById("session").hidden = true;
  openName = "";
});

// Offers each route that the server remembers; the charts show the chosen one.
function showPlaces(now) {
  const select = document.getElementById("place"), names = ["", ...Object.keys({ ...now.places, ...now.route_history }).sort()];
  if (select.options.length === names.length) return;
  const before = select.value;
  select.replaceChildren(...names.map(name => new Option(name || "all routes and services", name)));
  select.value = before;
}
const place = () => document.getElementById("place").value;

const chosen = () => document.querySelector("input[name=span]:checked").value;

// Draws the two minutes that this page has seen.
function drawLive(now) {
  const only = routes => place() ? Object.fromEntries(Object.entries(routes).filter(([name]) => name === place())) : routes;
  const steps = samples.slice(1).map((sample, index) => [sample, samples[index], only(between(samples[index], sample))]);
  draw("rates", [steps.map(([sample, before, routes]) => 1000 * sum(Object.values(routes).map(route => route.requests)) / (sample.at - before.at))], short, MAX_SAMPLES - 1);
  const spent = steps.map(([, , routes]) => sumBuckets(routes));
  draw("latencies", [.5, .99].map(share => spent.map(buckets => quantile(share, buckets, now.bounds))), time, MAX_SAMPLES - 1);
}

// Draws the hour that the server remembers; the slot that is not over yet is left out.
function drawHour(now) {
  const step = place() ? now.route_slot_seconds : now.slot_seconds, slots = 3600 / step, rates = [], latencies = [[], []];
  const history = place() ? now.route_history[place()] || [] : now.history;
  const last = Math.floor(now.now / step) * step - step, known = new Map(history.map(([start, ...counts]) => [start, counts]));
  const first = now.history.length ? Math.floor(now.history[0][0] / step) * step : last;
  for (let start = last - (slots - 1) * step; start <= last; start += step) {
    const counts = known.get(start);
    rates.push(counts ? counts[0] / step : start < first ? null : 0);
    [.5, .99].forEach((share, line) => latencies[line].push(counts ? quantile(share, counts.slice(2), now.bounds) : null));
  }
  draw("rates", [rates], short, slots);
  draw("latencies", latencies, time, slots);
}

async function poll() {
  const state = document.getElementById("state");
  try {
    const answer = await fetch("/dashboard/figures", { cache: "no-store" });
    const figures = await answer.json();
    if (!answer.ok) throw new Error(answer.status);
    samples.push({ ...figures, at: performance.now() });
    if (samples.length > MAX_SAMPLES) samples.shift();
    show();
    if (openName) await readSession();
    state.className = "";
    state.textContent = `live, ${figures.workers} worker${figures.workers === 1 ? "" : "s"}`;
  } catch (error) {
    state.className = "lost";
    state.textContent = "the server does not answer";
  }
  setTimeout(poll, 1000);
}
for (const choice of document.querySelectorAll("input[name=span], #place")) choice.addEventListener("change", show);
poll();
