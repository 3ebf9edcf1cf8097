// Runs of unchanged lines: folded at first, each with a button of its own.
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
  button.textContent = all ? "Fold again" : "Unfold all";
  section.querySelectorAll("tbody.fold-button").forEach((head) => open(head, all));
}

function open(head, shown) {
  head.querySelector("button").setAttribute("aria-expanded", String(shown));
  head.nextElementSibling.classList.toggle("open", shown);
}
