"use strict";
const KEPT = 121, OVER = 10, kept = [];
const put = (id, text) => { document.getElementById(id).textContent = text; };
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const few = value => value >= 100 ? number.format(value) : value >= 1 ? value.toFixed(1) : value ? value.toFixed(2) : "0";
const time = seconds => seconds === null ? "–" : seconds < 1 ? few(1000 * seconds) + " ms" : few(seconds) + " s";
const size = bytes => bytes >= 1e9 ? few(bytes / 1e9) + " GB" : few(bytes / 1e6) + " MB";
const sum = values => values.reduce((all, one) => all + one, 0);

// What was done between two samples, by place.
function between(old, now) {
  const found = {};
  for (const [place, one] of Object.entries(now.places)) {
    const before = old.places[place] || { statuses: {}, buckets: [] };
    const statuses = Object.entries(one.statuses).map(([status, n]) => [status, n - (before.statuses[status] || 0)]);
    found[place] = {
      requests: sum(statuses.map(([, n]) => n)),
      failures: sum(statuses.filter(([status]) => status >= "500").map(([, n]) => n)),
      all: sum(Object.values(one.statuses)),
      buckets: one.buckets.map((n, i) => n - (before.buckets[i] || 0)),
    };
  }
  return found;
}

// A quantile as Prometheus has it: straight through the bucket that it lies in.
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
const together = done => Object.values(done).reduce((all, one) => one.buckets.map((n, i) => n + (all[i] || 0)), []);

function draw(id, lines, form) {
  const svg = document.getElementById(id), wide = svg.clientWidth || 400, high = svg.clientHeight || 140, left = 52, low = high - 6;
  const most = Math.max(1e-9, ...lines.flat().filter(value => value !== null));
  const scale = 10 ** Math.floor(Math.log10(most)), top = [1, 2, 5, 10].map(n => n * scale).find(n => n >= most) || most;
  const made = (name, given, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(given)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  const parts = [];
  for (const share of [0, .5, 1]) {
    const y = low - share * (low - 10);
    parts.push(made("line", { class: "grid", x1: left, x2: wide, y1: y, y2: y }));
    parts.push(made("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, form(share * top)));
  }
  lines.forEach((values, index) => {
    let path = "", open = false;
    values.forEach((value, place) => {
      if (value === null) { open = false; return; }
      const x = wide - (values.length - 1 - place) * (wide - left) / (KEPT - 2), y = low - value / top * (low - 10);
      path += `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      open = true;
    });
    parts.push(made("path", { class: ["one", "two"][index], d: path }));
  });
  svg.replaceChildren(...parts);
}

function row(cells, kind = "td") {
  const made = document.createElement("tr");
  for (const text of cells) made.appendChild(document.createElement(kind)).textContent = text;
  return made;
}

function show() {
  const now = kept[kept.length - 1], old = kept[Math.max(0, kept.length - 1 - OVER)];
  const world = now.world;
  put("served", world.snapshot ? `${world.collection} · ${number.format(world.documents)} pages · snapshot ${world.snapshot}` : "no snapshot yet");
  put("sessions", number.format(now.sessions));
  put("memory", size(now.resident_bytes));
  const asked = now.cache.hits + now.cache.misses;
  put("cache", asked ? few(100 * now.cache.hits / asked) + " %" : "–");
  document.getElementById("queries").replaceChildren(...now.queries.map(([text, n]) => {
    const one = document.createElement("li");
    one.textContent = text + " ";
    one.appendChild(document.createElement("span")).textContent = number.format(n);
    return one;
  }));
  if (now === old) return;
  const seconds = (now.at - old.at) / 1000, done = between(old, now), all = together(done);
  put("rate", few(sum(Object.values(done).map(one => one.requests)) / seconds));
  put("failures", few(sum(Object.values(done).map(one => one.failures)) / seconds));
  put("p50", time(quantile(.5, all, now.bounds)));
  put("p99", time(quantile(.99, all, now.bounds)));
  put("cpu", `${((now.cpu_seconds - old.cpu_seconds) / seconds).toFixed(2)} cores`);
  const places = Object.entries(done).sort(([a, one], [b, other]) => other.requests - one.requests || other.all - one.all || (a < b ? -1 : 1));
  document.getElementById("places").replaceChildren(...places.map(([place, one]) => row([
    place, few(one.requests / seconds), time(quantile(.5, one.buckets, now.bounds)), time(quantile(.99, one.buckets, now.bounds)),
    few(one.failures / seconds), number.format(one.all)])));
  const steps = kept.slice(1).map((sample, place) => [sample, kept[place], between(kept[place], sample)]);
  draw("rates", [steps.map(([sample, before, did]) => 1000 * sum(Object.values(did).map(one => one.requests)) / (sample.at - before.at))], few);
  const spent = steps.map(([, , did]) => together(did));
  draw("latencies", [.5, .99].map(share => spent.map(buckets => quantile(share, buckets, now.bounds))), time);
}

async function look() {
  const state = document.getElementById("state");
  try {
    const answer = await fetch("/dashboard/figures", { cache: "no-store" });
    const figures = await answer.json();
    if (!answer.ok) throw new Error(answer.status);
    kept.push({ ...figures, at: performance.now() });
    if (kept.length > KEPT) kept.shift();
    show();
    state.className = "";
    state.textContent = `live, ${figures.workers} worker${figures.workers === 1 ? "" : "s"}`;
  } catch (error) {
    state.className = "lost";
    state.textContent = "the server does not answer";
  }
  setTimeout(look, 1000);
}
look();
