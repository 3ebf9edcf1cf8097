// Docstrings and runs of unchanged lines: folded at first, each with a button. On a locked label, the two layouts as well.
document.documentElement.classList.add("has-js");

export function startFolding(root) {
  root.addEventListener("click", (event) => {
    const button = event.target.closest('[data-act="fold"]');
    if (button) open(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
  });
}

export function unfold(line) {
  const run = line.closest("tbody.fold");
  if (run) open(run.previousElementSibling, true);
}

export function foldAll(section, button) {
  const all = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(all));
  button.firstChild.textContent = all ? "Fold again " : "Unfold all ";
  section.querySelectorAll("tbody.fold-button").forEach((head) => open(head, all));
}

function open(head, shown) {
  head.querySelector("button").setAttribute("aria-expanded", String(shown));
  head.nextElementSibling.classList.toggle("open", shown);
}

const section = document.getElementById("label-work") ? null : document.getElementById("label-diff");
if (section) {
  startFolding(section);
  section.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button?.dataset.act === "unfold") foldAll(section, button);
    if (button?.dataset.act === "layout") button.setAttribute("aria-pressed", String(section.classList.toggle("unified")));
  });
}
