// The evidence behind a mark: a panel on the page of the mark, with an address of its own, so that Back closes it.
// Arrow keys step from mark to mark and, in the panel, to neighbouring answers. Without this script a mark leads to the
// same content as a page.

const ADDRESS = /^\/board\/[^/]+\/answers\//;
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
let panel; // the dialog, made when it is first opened
let opener; // the mark it was opened from
let title; // the page's own title
let shown = ""; // the address in the panel
let entered = false; // whether the current entry of the history is the panel's

function makePanel() {
  panel = document.createElement("dialog");
  panel.className = "evidence-panel";
  panel.innerHTML = '<div class="evidence-head"><button type="button" class="quiet">Close</button></div><div class="evidence"></div>';
  panel.querySelector("button").addEventListener("click", () => panel.close());
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
  panel.addEventListener("close", closed);
  document.body.append(panel);
}

async function load(address) {
  shown = address;
  const body = panel.querySelector(".evidence");
  body.setAttribute("aria-busy", "true");
  let page;
  try {
    const response = await fetch(address);
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    location.assign(address);
    return;
  }
  if (shown !== address || !panel.open) return; // another answer was requested since
  body.removeAttribute("aria-busy");
  body.replaceChildren(...(page.getElementById("evidence") ?? page.querySelector("main")).childNodes);
  const heading = body.querySelector("h1");
  panel.setAttribute("aria-label", heading?.textContent.trim() ?? "Evidence");
  document.title = page.title;
  panel.scrollTop = 0;
  if (heading) {
    heading.tabIndex = -1;
    heading.focus();
  }
}

function open(address) {
  if (!panel) makePanel();
  if (!panel.open) {
    title = document.title;
    panel.showModal();
  }
  entered = true;
  load(address);
}

// Focus returns to the mark of the answer that was shown last, else to the one that opened the panel.
function closed() {
  if (panel.open) return; // opened again before the event of its closing
  document.title = title;
  const path = new URL(shown).pathname;
  const mark = [...document.querySelectorAll("a.m")].find((each) => each.pathname === path) ?? opener;
  for (const each of mark?.closest("tr")?.querySelectorAll("a.m") ?? []) each.tabIndex = each === mark ? 0 : -1;
  mark?.focus();
  if (entered) history.back();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const inside = panel?.contains(link);
  if (inside && link.getAttribute("href").startsWith("#")) {
    event.preventDefault();
    panel.querySelector(link.hash)?.scrollIntoView();
  } else if (ADDRESS.test(link.pathname) && (inside || link.matches("a.m"))) {
    event.preventDefault();
    if (inside) history.replaceState({}, "", link.href);
    else {
      opener = link;
      history.pushState({}, "", link.href);
    }
    open(link.href);
  }
});

// Registered before htmx's own listener, which would load the page again.
window.addEventListener("popstate", (event) => {
  const here = ADDRESS.test(location.pathname);
  if (!panel || (!here && !entered)) return;
  event.stopImmediatePropagation();
  entered = here;
  if (!here) {
    panel.close();
    closed();
  } else if (!panel.open || location.href !== shown) open(location.href);
});

// On the page itself the keys up and down scroll, unless the focus is on the links to the neighbours.
document.addEventListener("keydown", (event) => {
  if (!STEPS[event.key] || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const place = panel?.open ? panel : document.getElementById("evidence");
  if (!place || event.target.closest?.("input, select, textarea, pre, .diff-scroll, .scroll, dialog:not(.evidence-panel)")) return;
  const scrolls = event.key === "ArrowUp" || event.key === "ArrowDown";
  if (place !== panel && scrolls && !event.target.closest?.(".evidence-steps")) return;
  const link = place.querySelector(`[data-step="${event.key}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});

// A mark has its words once in the page; the pointer sees them as a tooltip.
document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest?.("a.m");
  if (mark) mark.title = mark.getAttribute("aria-label");
});

// One mark of a row is reached by the Tab key, the others by the arrow keys.
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
