"use strict";
const all = (what, where = document) => [...where.querySelectorAll(what)];
const by = id => document.getElementById(id);

// The pointer or the arrow keys show the values of a step; a position of null shows the last values again.
function read(svg, position) {
  const data = JSON.parse(svg.dataset.read), mark = svg.querySelector(".at"), figure = svg.closest("figure");
  const index = Math.max(0, Math.min(data.steps.length - 1, position)), isShown = position !== null;
  svg.position = isShown ? index : undefined;
  mark.setAttribute("x1", data.x[index]);
  mark.setAttribute("x2", data.x[index]);
  mark.style.visibility = isShown ? "visible" : "hidden";
  figure.querySelector(".step").textContent = isShown ? "step " + data.steps[index] : "";
  all("figcaption b", figure).forEach((value, line) => {
    value.dataset.last ??= value.textContent;
    value.textContent = isShown ? data.labels[line][index] : value.dataset.last;
  });
}
function nearest(svg, event) {
  const data = JSON.parse(svg.dataset.read), box = svg.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width * 300, distances = data.x.map(one => Math.abs(one - x));
  return distances.indexOf(Math.min(...distances));
}
document.addEventListener("pointermove", event => {
  const svg = event.target.closest?.(".chart");
  all(".chart").filter(one => one !== svg && one.position !== undefined && one !== document.activeElement).forEach(one => read(one, null));
  if (svg) read(svg, nearest(svg, event));
});
document.addEventListener("focusout", event => { if (event.target.matches?.(".chart")) read(event.target, null); });
document.addEventListener("keydown", event => {
  const svg = event.target, last = svg.matches?.(".chart") && JSON.parse(svg.dataset.read).steps.length - 1;
  if (last === false || last === undefined) return;
  const current = svg.position ?? last;
  const to = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  read(svg, to);
});
