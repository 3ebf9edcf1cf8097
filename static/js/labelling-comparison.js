// The comparison: folded runs, side by side or unified, blanks, and lines that findings are started on.
import { foldAll, startFolding, unfold } from "./labelling-folding.js";

const number = (button) => Number(button.dataset.line);
const onPhone = () => innerWidth < 640;

export class Comparison {
  constructor(work, form, life) {
    this.work = work;
    this.form = form;
    this.side = "candidate";
    this.from = this.to = null;
    this.work.addEventListener("click", (event) => this.#clicked(event));
    document.addEventListener("keydown", (event) => this.#pressed(event), { signal: life.signal });
    startFolding(work);
    // Two columns of code do not fit a phone.
    if (!form.fields.layout.value && onPhone()) this.section.classList.add("unified");
    this.#refresh();
  }

  get section() { return document.getElementById("label-diff"); }

  // The keyboard's place on the page. At the start, a place that is in sight anyway is not scrolled to, nor is any on a
  // phone, where title and task would scroll out of sight.
  focus({ atStart = false } = {}) {
    const line = this.work.querySelector('button.line[tabindex="0"]');
    line?.focus({ preventScroll: atStart });
    if (!line || !atStart || onPhone()) return;
    const frame = this.section.querySelector(".diff-scroll").getBoundingClientRect();
    const seen = Math.min(frame.bottom, innerHeight * 0.8);
    if (line.getBoundingClientRect().bottom > seen) line.scrollIntoView({ block: "center" });
  }

  chosen() {
    if (this.from === null) return null;
    return { side: this.side, start: Math.min(this.from, this.to), end: Math.max(this.from, this.to) };
  }

  toggleLayout() {
    const unified = this.section.classList.toggle("unified");
    this.#press("layout", unified);
    this.form.set("layout", unified ? "unified" : "side");
  }

  toggleWide() {
    if (!this.section.querySelector('[data-act="wide"]').offsetParent) return "the window is too narrow for it.";
    const wide = this.work.classList.toggle("wide");
    this.#press("wide", wide);
    this.form.set("wide", wide ? "yes" : "");
  }

  unfoldAll() {
    const button = this.section.querySelector('[data-act="unfold"]');
    if (!this.section.querySelector("tbody.fold-button")) return "no unchanged lines are folded here.";
    foldAll(this.section, button);
  }

  async toggleWhitespace() {
    const ignored = this.form.fields.whitespace.value === "ignored" ? "shown" : "ignored";
    const unified = this.section.classList.contains("unified");
    const address = `${this.form.element.action}?part=diff&whitespace=${ignored}`;
    try {
      await htmx.ajax("GET", address, { target: this.section, swap: "outerHTML" });
    } catch {
      return "the site cannot be reached.";
    }
    this.section.classList.toggle("unified", unified);
    this.form.fields.layout.value = unified ? "unified" : "side";
    this.form.onchange();
    this.#refresh();
    this.section.querySelector('[data-act="whitespace"]').focus();
  }

  // Show the lines of a finding: unfold them, scroll there, paint them.
  reveal({ side, start, end }) {
    const lines = this.#lines(side).filter((line) => number(line) >= Number(start) && number(line) <= Number(end || start));
    this.work.querySelectorAll("td.in-finding").forEach((cell) => cell.classList.remove("in-finding"));
    for (const line of lines) {
      unfold(line);
      line.parentElement.classList.add("in-finding");
      line.parentElement.nextElementSibling.classList.add("in-finding");
    }
    lines[0]?.scrollIntoView({ block: "nearest" });
  }

  // The first line of code that differs is chosen, so that a finding can be made at once: rather a line of the answer, and
  // one of a docstring only if nothing else differs.
  #firstChange() {
    for (const rows of [".changes tr:not(.docstring, .finding)", ".changes tr"]) {
      const changes = this.section.querySelector(rows)?.closest("tbody");
      const within = `${rows.replace(".changes ", "")} button.line`;
      const first = changes?.querySelector(`${within}[data-side="candidate"]`) ?? changes?.querySelector(within);
      if (first) return first;
    }
    return null;
  }

  #refresh() {
    const first = this.#firstChange() ?? this.#visible("candidate")[0] ?? this.#visible("golden")[0];
    this.#press("layout", this.section.classList.contains("unified"));
    this.from = this.to = null;
    if (first) this.#choose(first, false);
    else this.#draw();
    this.drawFindings();
  }

  #lines(side) { return [...this.work.querySelectorAll(`button.line[data-side="${side}"]`)]; }

  #visible(side) { return this.#lines(side).filter((line) => line.offsetParent !== null); }

  #clicked(event) {
    const line = event.target.closest("button.line");
    if (line) this.#choose(line, event.shiftKey);
  }

  #pressed(event) {
    // Where nothing has the focus (what had it is gone), arrows go on from the chosen line.
    const lost = event.target === document.body && !document.querySelector("dialog[open]");
    const line = (lost ? this.work.querySelector('button.line[tabindex="0"]') : event.target.closest?.("button.line"));
    if (!line || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter") {
      event.preventDefault();
      if (this.from === null || !this.#holds(line)) this.#choose(line, false);
      this.section.querySelector('[data-act="find"]').click();
      return;
    }
    const next = this.#next(line, event.key);
    if (!next) return;
    event.preventDefault();
    this.#choose(next, event.shiftKey && next.dataset.side === this.side);
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  #next(line, key) {
    const side = line.dataset.side;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const wanted = key === "ArrowLeft" ? "golden" : "candidate";
      if (wanted === side) return null;
      return line.closest("tr").querySelector(`button.line[data-side="${wanted}"]`) ?? this.#visible(wanted)[0];
    }
    const lines = this.#visible(side);
    const place = lines.indexOf(line);
    const to = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: lines.length - 1 }[key];
    return to === undefined ? null : lines[to];
  }

  #choose(line, extend) {
    this.side = extend && this.from !== null ? this.side : line.dataset.side;
    if (!extend || this.from === null || line.dataset.side !== this.side) this.from = number(line);
    this.to = number(line);
    this.work.querySelectorAll('button.line[tabindex="0"]').forEach((other) => { other.tabIndex = -1; });
    line.tabIndex = 0;
    this.#draw();
  }

  #holds(line) {
    const { side, start, end } = this.chosen();
    return line.dataset.side === side && number(line) >= start && number(line) <= end;
  }

  #draw() {
    const chosen = this.chosen();
    for (const line of this.work.querySelectorAll("button.line")) {
      const holds = chosen !== null && this.#holds(line);
      line.parentElement.classList.toggle("chosen", holds);
      line.parentElement.nextElementSibling.classList.toggle("chosen", holds);
      if (holds) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
    const find = this.section.querySelector('[data-act="find"]');
    if (find) find.disabled = chosen === null;
  }

  drawFindings() {
    const findings = this.form.read().findings ?? [];
    for (const line of this.work.querySelectorAll("button.line")) {
      const has = findings.some(({ side, start, end }) =>
        side === line.dataset.side && start && number(line) >= Number(start) && number(line) <= Number(end || start));
      line.parentElement.classList.toggle("has-finding", has);
      if (has) unfold(line);
    }
  }

  #press(act, on) {
    this.work.querySelectorAll(`[data-act="${act}"]`).forEach((button) => button.setAttribute("aria-pressed", String(on)));
  }
}
