"use strict";
// "/" focuses the search box, as on other sites; typing in a field is left alone.
document.addEventListener("keydown", event => {
  const isTyping = event.target.closest("input, select, textarea, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  event.preventDefault();
  const box = document.getElementById("q");
  box.focus();
  box.select();
});
// A slider moves between stops: days, which it writes into a field, or captures, to which it leads.
for (const slider of document.querySelectorAll("input[type=range][data-stops]")) {
  const stops = slider.dataset.stops.split(" "), field = document.getElementById(slider.dataset.target);
  const links = document.querySelectorAll(".captures li a"), shown = slider.parentElement.querySelector("output");
  const show = () => {
    shown.textContent = stops[slider.value].replace("T", " ");
    slider.setAttribute("aria-valuetext", shown.textContent);
  };
  if (field && field.value) slider.value = Math.max(0, stops.findLastIndex(day => day <= field.value));
  slider.parentElement.hidden = false;
  slider.addEventListener("input", () => { show(); if (field) field.value = stops[slider.value]; });
  slider.addEventListener("change", () => { if (!field) location.assign(links[slider.value].href); });
  show();
}
