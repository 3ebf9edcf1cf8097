// The board: arrow keys from mark to mark, and a slider of months.

document.addEventListener("htmx:configRequest", (event) => {
  // The boxes show the usual columns, too; only a change of theirs chooses some.
  const changed = event.detail.triggeringEvent?.target?.name;
  const chosen = new URLSearchParams(location.search).has("columns");
  if (changed !== "columns" && !chosen) delete event.detail.parameters.columns;
});

// One mark of a row is reached by the Tab key, the others by the arrow keys.
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

document.addEventListener("keydown", (event) => {
  const mark = event.target.closest?.("a.m");
  const step = STEPS[event.key];
  if (!mark || !step || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = mark.closest("tr");
  const place = [...row.querySelectorAll("a.m")].indexOf(mark) + step[1];
  let next = row;
  do {
    next = step[0] === 0 ? row : step[0] > 0 ? next.nextElementSibling : next.previousElementSibling;
  } while (next && step[0] !== 0 && !next.querySelector("a.m"));
  const target = next?.querySelectorAll("a.m")[place];
  if (!target) return;
  event.preventDefault();
  mark.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
});

// A slider replaces the list of months: its readout is the chosen option, and the form still sends the list.
function slide(list) {
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: list.length - 1 });
  const readout = document.createElement("output");
  const label = document.querySelector(`label[for="${list.id}"]`);
  const read = () => {
    readout.textContent = list.options[slider.value].text;
    slider.setAttribute("aria-valuetext", readout.textContent);
  };
  slider.id = `${list.id}_slider`;
  slider.value = list.selectedIndex;
  label.htmlFor = readout.htmlFor = slider.id;
  slider.addEventListener("input", read);
  // The form receives the same event, and then sends the list's choice.
  slider.addEventListener("change", () => {
    list.selectedIndex = slider.value;
  });
  list.hidden = true;
  list.after(slider, readout);
  read();
}

const months = document.getElementById("id_papers");
if (months?.length > 1) slide(months);
