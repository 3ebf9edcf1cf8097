// The board's rows: a system's other rows are shown below its leading one, and selected rows stay selected while filters,
// pages and orders change.
(() => {
  "use strict";
  const board = () => document.getElementById("board");

  // "3 more rows": loaded once, then shown and hidden.
  const load = async (link) => {
    const address = new URL(location.href);
    const columns = [...board().querySelectorAll("thead th")].map((head) => /column-([a-z]+)/.exec(head.className)[1]);
    for (const name of ["page", "fold", "q", "columns"]) address.searchParams.delete(name);
    address.searchParams.set("system", new URL(link.href).searchParams.get("system"));
    columns.forEach((column) => address.searchParams.append("columns", column));
    const response = await fetch(address);
    if (!response.ok) throw new Error(response.statusText);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return [...page.querySelectorAll("#board table.board tbody tr:not(.leading-row)")];
  };

  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a.more-rows");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (!link.otherRows) {
      try {
        link.otherRows = await load(link);
      } catch {
        location.assign(link.href);
        return;
      }
      link.otherRows.forEach((row) => row.classList.add("other-row"));
      link.closest("tr").after(...link.otherRows);
      link.setAttribute("aria-expanded", "true");
    } else {
      const hides = link.getAttribute("aria-expanded") === "true";
      link.otherRows.forEach((row) => { row.hidden = hides; });
      link.setAttribute("aria-expanded", String(!hides));
    }
    check();
  });

  const form = document.getElementById("compare");
  if (!form) return;
  const key = `selected ${form.action}`;
  const MOST = 4;
  const read = () => {
    try { return new Map(JSON.parse(sessionStorage.getItem(key) ?? "[]")); } catch { return new Map(); }
  };
  const selected = read();
  const boxes = () => [...document.querySelectorAll('input[name="row"][form="compare"]')];
  const button = form.querySelector("button[type=submit]");
  const chosen = form.querySelector(".compare-chosen");
  const clears = form.querySelector("[data-clears]");

  const show = () => {
    const number = selected.size;
    button.textContent = `Compare ${number}`;
    button.disabled = number < 2 || number > MOST;
    chosen.textContent = number > MOST ? `At most ${MOST} rows can be compared.`
      : `${[...selected.values()].join(" · ")}${number < 2 ? ": select one more row" : ""}`;
    form.classList.toggle("some", number > 0);
    clears.hidden = false;
    form.querySelectorAll("input[name=row]").forEach((field) => field.remove());
    const here = new Set(boxes().map((box) => box.value));
    for (const value of selected.keys()) {
      if (!here.has(value)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "row", value }));
    }
    try { sessionStorage.setItem(key, JSON.stringify([...selected])); } catch { /* private mode: lasts for this page */ }
  };

  const check = () => {
    boxes().forEach((box) => { box.checked = selected.has(box.value); });
    show();
  };

  document.addEventListener("change", (event) => {
    if (!event.target.matches?.('input[name="row"][form="compare"]')) return;
    const { value, checked } = event.target;
    if (checked) selected.set(value, event.target.getAttribute("aria-label").replace(/^Compare /, ""));
    else selected.delete(value);
    show();
  });
  clears.addEventListener("click", () => {
    selected.clear();
    check();
  });
  document.addEventListener("htmx:load", check);
  addEventListener("pageshow", check);
})();
