// The evidence behind a mark: a panel on the page of the mark, with an address of its own, so that Back closes it.
// Arrow keys step to neighbouring answers. Without this script a mark leads to the same content as a page.

const ADDRESS = /^\/board\/[^/]+\/answers\//;
const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
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
  if (!here) panel.close();
  else if (!panel.open || location.href !== shown) open(location.href);
});

// On the page itself the keys up and down scroll, unless the focus is on the links to the neighbours.
document.addEventListener("keydown", (event) => {
  if (!KEYS.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const place = panel?.open ? panel : document.getElementById("evidence");
  if (!place || event.target.closest?.("input, select, textarea, pre, .diff-scroll, .scroll, dialog:not(.evidence-panel)")) return;
  const scrolls = event.key === "ArrowUp" || event.key === "ArrowDown";
  if (place !== panel && scrolls && !event.target.closest?.(".evidence-steps")) return;
  const link = place.querySelector(`[data-step="${event.key}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
