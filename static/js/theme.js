// Light, dark, or what the system prefers. Without this script the page follows the system. `data-script` on the root
// tells the stylesheet that scripts run.
(() => {
  "use strict";
  const root = document.documentElement;
  root.dataset.script = "";
  const stored = (() => {
    try { return localStorage.getItem("theme"); } catch { return null; }
  })();
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;

  const shown = () =>
    root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme-toggle");
    if (!button) return;
    const label = () => {
      button.textContent = shown() === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
    };
    button.hidden = false;
    label();
    button.addEventListener("click", () => {
      root.dataset.theme = shown() === "dark" ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private mode: lasts for this page */ }
      label();
    });
  });
})();
