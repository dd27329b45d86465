"use strict";
// Shows one attempt of an evaluation: its turns, calls, observations, answer and reward. For pages of several attempts.
// Text from the web goes through textContent only, so it is never parsed as markup.
const by = id => document.getElementById(id);
const read = id => JSON.parse(by(id).textContent);
const kinds = read("kinds");

function make(tag, kind, text) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  if (text !== undefined) node.textContent = text;
  return node;
}
function pair(name, value, kind) {
  const node = make("div", "pair");
  node.append(make("span", "", name), value instanceof Node ? value : make("span", kind, value));
  return node;
}
function number(value) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(3);
}
function said(given) {
  if (typeof given === "string") return given;
  return Object.entries(given || {}).map(([name, value]) => name + "=" + JSON.stringify(value)).join(", ");
}
function marked(text, words) {
  const node = make("pre"), escape = word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const wanted = words.filter(word => word.length > 1).sort((a, b) => b.length - a.length).slice(0, 20).map(escape);
  if (!wanted.length) return make("pre", "", text);
  text.split(new RegExp("(" + wanted.join("|") + ")", "i")).forEach((part, place) => node.append(place % 2 ? make("mark", "", part) : part));
  return node;
}
function observation(step, answers) {
  const box = make("div"), text = marked(step.observation || "", answers);
  text.tabIndex = 0;  // a long text scrolls, by the keyboard too
  box.append(text);
  if (step.more) box.append(make("div", "soft small", step.more.toLocaleString("en") + " more characters stand in episodes.jsonl"));
  if ((step.observation || "").length > 500) {
    const whole = make("button", "link small", "show all");
    whole.onclick = () => { whole.textContent = text.classList.toggle("whole") ? "show less" : "show all"; };
    box.append(whole);
  }
  return box;
}
// The text of a turn and its observations in characters; its bar shows how the attempt was spent.
function weight(turn) {
  const written = (turn.thought || "").length + (turn.text || "").length;
  return [written, (turn.steps || []).reduce((total, step) => total + (step.observation || "").length + (step.more || 0), 0)];
}
function timeline(one) {
  const weights = one.turns.map(weight), all = Math.max(1, weights.flat().reduce((total, part) => total + part, 0));
  const bar = make("div", "timeline");
  weights.forEach(([written, observed], place) => {
    for (const [part, kind] of [[written, "written"], [observed, "observed"]]) {
      if (!part) continue;
      const piece = make("span", kind);
      piece.style.flexGrow = part / all;
      piece.title = "turn " + (place + 1) + ": " + number(part) + " characters " + kind;
      bar.append(piece);
    }
  });
  const box = make("div");
  box.append(bar, make("p", "soft small", one.turns.length + " turns; the bar shows characters written (dark) and observed (light), in order"));
  return box;
}
// Names the parts of the reward terms that a call earned or lost, gates excepted; on the call that gave the answer also
// the reward and what made it 0.
function earned(step, one) {
  const signed = value => (value > 0 ? "+" : "−") + number(Math.abs(value));
  const parts = Object.entries(step.earned || {}).filter(([name]) => kinds[name] !== "gate").map(([name, value]) => name + " " + signed(value));
  if (step.tool !== "finish" || step.kind !== "over" || one.mask) return parts.join(", ");
  const failed = Object.entries(one.terms).filter(([name, value]) => kinds[name] !== "metric" && !value).map(([name]) => name + " 0");
  return "reward " + number(one.reward) + ([...failed, ...parts].length ? ": " + [...failed, ...parts].join(", ") : "");
}
function turns(one) {
  const list = make("ol", "steps");
  for (const turn of one.turns) {
    const item = make("li");
    if (turn.prompt_tokens || turn.completion_tokens) {
      item.append(make("p", "soft small", number(turn.prompt_tokens || 0) + " tokens read, " + number(turn.completion_tokens || 0) + " written"));
    }
    if (turn.thought) item.append(make("p", "said soft", turn.thought));
    if (turn.text) item.append(make("p", "said", turn.text));
    for (const step of turn.steps || []) {
      const line = make("div", "asked");
      line.append(make("span", "tool", step.tool), document.createTextNode(" "), make("code", "", said(step.arguments)));
      if (["misuse", "refusal", "weather", "limit"].includes(step.kind)) line.append(" ", make("span", "soft small", step.kind));
      const reason = earned(step, one);
      if (reason) line.append(" ", make("span", "earned small", reason));
      item.append(line);
      if (step.tool !== "finish" || step.kind !== "over") item.append(observation(step, one.answers));
    }
    if (turn.told) item.append(make("p", "soft small", "told: " + turn.told));
    list.append(item);
  }
  return list;
}
function terms(one, wanted) {
  const box = make("div", "terms");
  for (const [name, value] of Object.entries(one.terms)) {
    if ((kinds[name] === "metric") !== (wanted === "metric")) continue;
    box.append(make("span", "term" + (wanted !== "metric" && value === 0 ? " none" : ""), name + " " + number(value)));
  }
  return box;
}
function cited(one) {
  const box = make("span");
  for (const url of one.citations) box.append(make("div", "", url + (one.opened.some(seen => same(seen, url)) ? "" : "  (not opened)")));
  if (!one.citations.length) box.textContent = "none";
  return box;
}
function same(one, other) {
  const bare = url => url.replace(/^https?:\/\//, "").replace(/#.*$/, "").replace(/\/$/, "");
  return bare(one) === bare(other);
}
// Everything about an attempt.
function attempt(one) {
  const box = make("div", "inside");
  if (one.question.length > 300) box.append(pair("question", one.question));
  box.append(timeline(one), turns(one), pair("answer", one.answer || "none", one.verdict), pair("accepted", one.answers.join("  |  ")));
  box.append(pair("cited", cited(one)), pair("evidence", one.evidence.join("\n") || "none"), pair("opened", one.opened.join("\n") || "none"));
  box.append(pair("reward", number(one.reward)), pair("made of", terms(one, "reward")), pair("counted", terms(one, "metric")));
  if (one.mask) box.append(pair("masked", one.mask));
  const tokens = one.prompt_tokens + one.completion_tokens;
  box.append(pair("end", one.end + (tokens ? ", " + number(tokens) + " tokens" : "") + ", " + number(one.seconds) + " s"));
  return box;
}
// Thoughts, calls and observations in lower case, for searches.
function allText(one) {
  const parts = [];
  for (const turn of one.turns) {
    parts.push(turn.thought, turn.text);
    for (const step of turn.steps || []) parts.push(step.tool, said(step.arguments), step.observation);
  }
  return parts.filter(Boolean).join("\n").toLowerCase();
}
