// What one has locked, read again: folding and the two layouts.
import { foldAll, startFolding } from "./labelling-folding.js";

const section = document.getElementById("label-diff");
document.documentElement.classList.add("has-js");
startFolding(section);
section.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (button?.dataset.act === "unfold") foldAll(section, button);
  if (button?.dataset.act === "layout") button.setAttribute("aria-pressed", String(section.classList.toggle("unified")));
});
