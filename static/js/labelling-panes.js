// The panes beside the code, as tabs. Without scripts the same panes are one below the other.
export function startPanes(work, remember, first) {
  const list = work.querySelector(".label-tabs");
  const tabs = [...list.querySelectorAll("a")];
  const paneOf = (tab) => document.getElementById(tab.hash.slice(1));
  const shown = new EventTarget();

  const show = (id, { focus = false } = {}) => {
    const chosen = tabs.find((tab) => tab.hash === `#${id}`) ?? tabs[0];
    for (const tab of tabs) {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      paneOf(tab).hidden = !on;
    }
    if (focus) chosen.focus();
    shown.dispatchEvent(new CustomEvent("shown", { detail: paneOf(chosen).id }));
    return paneOf(chosen).id;
  };

  list.setAttribute("role", "tablist");
  for (const tab of tabs) {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", paneOf(tab).id);
    paneOf(tab).setAttribute("role", "tabpanel");
  }
  // Tabs, and links to a pane from elsewhere on the page.
  work.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#pane-"]');
    if (!link) return;
    event.preventDefault();
    remember(show(link.hash.slice(1), { focus: !tabs.includes(link) }));
  });
  list.addEventListener("keydown", (event) => {
    const place = tabs.indexOf(event.target);
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (place < 0 || to === undefined) return;
    event.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    remember(show(paneOf(next).id, { focus: true }));
  });
  show(first ?? "pane-label");
  return { show, shown, current: () => paneOf(tabs.find((tab) => tab.tabIndex === 0)).id };
}
