// The board: its columns, and a slider of months.

document.addEventListener("htmx:configRequest", (event) => {
  // The boxes show the usual columns, too; only a change of theirs chooses some.
  const changed = event.detail.triggeringEvent?.target?.name;
  const chosen = new URLSearchParams(location.search).has("columns");
  if (changed !== "columns" && !chosen) delete event.detail.parameters.columns;
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
