// Every page: light or dark colours, Copy buttons, and the list of keys. Runs in the head, so that a stored theme applies
// before anything is drawn; without it the page follows the system. The stylesheet finds `data-script` on the root if
// scripts run.
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

  const label = (button) => {
    button.textContent = shown() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
  };

  const switchTheme = (button) => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private mode: lasts for this page */ }
    label(button);
  };

  // A Copy button names an element by its id: a field, or text such as commands. Its own label shows the result.
  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copies);
    const select = () => (source.select ? source.select() : getSelection().selectAllChildren(source));
    let copied;
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent.trim());
      copied = true;
    } catch {
      // Only secure pages have a clipboard; the old way works on an instance without HTTPS.
      select();
      copied = document.execCommand("copy");
    }
    if (!copied) select();
    const before = button.textContent;
    button.textContent = copied ? "Copied" : "Press Ctrl+C";
    document.getElementById("announced").textContent = copied ? "Copied." : "Selected: copy it with Ctrl+C.";
    setTimeout(() => { button.textContent = before; }, 2500);
  };

  const toggle = (dialog) => (dialog.open ? dialog.close() : dialog.showModal());

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (button?.id === "theme-toggle") switchTheme(button);
    else if (button?.dataset.copies) copy(button);
    else if (button?.dataset.opens) toggle(document.getElementById(button.dataset.opens));
  });

  // What is typed in a filter applies as it is typed. Applied again on leaving the field, it would replace the link that
  // is being pressed.
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("form.filters input[type='search']")) event.stopPropagation();
  }, true);
  // Addresses name only what was chosen.
  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.target.matches?.("form.filters")) return;
    const asked = event.detail.parameters;
    for (const name of Object.keys(asked)) {
      if (asked[name] === "" || (name === "show" && asked[name] === "all")) delete asked[name];
    }
  });

  // The labelling page has keys and a list of its own (labelling-keys.js).
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type='checkbox'], [type='radio'], [type='range']), select, textarea");
    const help = document.getElementById("site-keys");
    if (!help || typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const search = document.querySelector("main input[type='search']");
    if (event.key === "?") toggle(help);
    else if (event.key === "/" && !help.open) search ? search.focus() : document.querySelector("a[href='/search/']").click();
    else return;
    event.preventDefault();
  });

  // Code in the documentation comes from Markdown, which has no buttons.
  const offerCode = () => document.querySelectorAll(".docs-body pre").forEach((block, place) => {
    const frame = Object.assign(document.createElement("div"), { className: "copied" });
    const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet copy", textContent: "Copy" });
    block.id ||= `code-${place + 1}`;
    button.dataset.copies = block.id;
    button.setAttribute("aria-label", `Copy code ${place + 1}`);
    block.before(frame);
    frame.append(block, button);
  });

  const reveal = (part) => part.querySelectorAll("button[data-copies], button[data-opens]").forEach((button) => {
    button.hidden = !document.getElementById(button.dataset.copies ?? button.dataset.opens);
  });
  document.addEventListener("DOMContentLoaded", () => {
    offerCode();
    reveal(document);
    const button = document.getElementById("theme-toggle");
    if (!button) return;
    button.hidden = false;
    label(button);
  });
  document.addEventListener("htmx:load", (event) => reveal(event.target));
})();
