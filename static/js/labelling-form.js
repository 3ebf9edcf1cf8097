// What is typed: read as a draft, written back, with undo. Fields outside the <form> belong to it by their form attribute.
const PARTS = ["side", "start", "end", "text", "error_class"];

export class LabelForm extends EventTarget {
  constructor(element, draft) {
    super();
    this.element = element;
    this.list = document.getElementById("findings");
    this.template = document.getElementById("finding-template");
    this.view = { ...(draft.view || {}) };
    this.current = null;
    this.onfinding = () => {};
    this.list.querySelectorAll(".without-js").forEach((row) => row.remove());
    this.past = [];
    this.last = this.#snapshot();
    this.#listen();
    this.#drawUndo();
  }

  #listen() {
    document.addEventListener("input", (event) => {
      if (event.target.form === this.element) this.#changed();
    });
    document.addEventListener("change", (event) => {
      if (event.target.form === this.element) this.#committed();
    });
    this.list.addEventListener("click", (event) => {
      const button = event.target.closest('[data-act="remove-finding"]');
      if (button) this.#remove(button.closest(".finding"));
    });
    this.list.addEventListener("focusin", (event) => {
      this.current = event.target.closest(".finding");
      this.onfinding(this.#finding(this.current));
    });
  }

  read() {
    const fields = this.element.elements;
    const confidence = fields.confidence.value;
    return {
      label: fields.label.value,
      confidence: confidence ? Number(confidence) : null,
      findings: this.#rows().map((row) => this.#finding(row)),
      note: fields.note.value,
      paper_page: Number(fields.paper_page.value) || 1,
      view: this.view,
    };
  }

  write(draft) {
    const fields = this.element.elements;
    for (const name of ["label", "confidence"]) {
      for (const radio of fields[name]) radio.checked = radio.value === String(draft[name] ?? "");
    }
    fields.note.value = draft.note ?? "";
    this.list.replaceChildren();
    for (const finding of draft.findings ?? []) this.#append(finding);
    this.last = this.#snapshot();
    this.#changed();
  }

  choose(label) {
    for (const radio of this.element.elements.label) radio.checked = radio.value === label;
    this.#changed();
    this.#committed();
  }

  // From low to high, and from there to low again.
  nextConfidence() {
    const levels = [...this.element.elements.confidence];
    levels[(levels.findIndex((radio) => radio.checked) + 1) % levels.length].checked = true;
    this.#changed();
    this.#committed();
  }

  setView(part) {
    this.view = { ...this.view, ...part };
    this.#changed();
  }

  setPage(page) {
    if (Number(this.element.elements.paper_page.value) === page) return;
    this.element.elements.paper_page.value = page;
    this.#changed();
  }

  addFinding(finding) {
    const row = this.#append(finding);
    this.#changed();
    this.#committed();
    return row;
  }

  // The finding after (or before) the one in use; null beyond the ends.
  neighbour(step) {
    const rows = this.#rows();
    const place = rows.indexOf(this.current);
    return rows[place < 0 ? (step > 0 ? 0 : rows.length - 1) : place + step] ?? null;
  }

  focusFinding(row) {
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  undo() {
    const before = this.past.pop();
    if (!before) return "there is nothing to undo.";
    this.write(JSON.parse(before));
    this.#drawUndo();
  }

  showErrors(errors) {
    for (const old of document.querySelectorAll(".errorlist.by-script")) old.remove();
    const marked = document.querySelectorAll(".has-errors");
    marked.forEach((field) => field.classList.remove("has-errors"));
    for (const id of ["label-error", "confidence-error"]) document.getElementById(id).textContent = "";
    const rest = [];
    for (const [field, message] of Object.entries(errors)) {
      if (!this.#showError(field, message)) rest.push(message);
    }
    return rest;
  }

  #showError(field, message) {
    const bar = document.getElementById(`${field}-error`);
    if (field === "label" || field === "confidence") {
      bar.textContent = message;
      bar.closest("fieldset").classList.add("has-errors");
      return true;
    }
    const number = /^finding-(\d+)$/.exec(field);
    const places = { findings: this.list, note: this.element.elements.note };
    const place = number ? this.#rows()[Number(number[1])] : places[field];
    if (!place) return false;
    const shown = document.createElement(number ? "p" : "div");
    shown.className = "errorlist by-script";
    shown.textContent = message;
    if (number) place.append(shown);
    else place.before(shown);
    (number ? place : place.parentElement).classList.add("has-errors");
    return true;
  }

  #remove(row) {
    const rows = this.#rows();
    const place = rows.indexOf(row);
    row.remove();
    (rows[place + 1] ?? rows[place - 1] ?? document.querySelector('[data-act="add-finding"]')).focus();
    this.#changed();
    this.#committed();
  }

  #append(finding) {
    const number = this.list.children.length;
    const row = this.template.content.firstElementChild.cloneNode(true);
    for (const part of PARTS) {
      const input = row.querySelector(`[name$="-${part}"]`);
      input.name = `finding-${number}-${part}`;
      if (finding[part] !== undefined && finding[part] !== null) input.value = finding[part];
    }
    this.list.append(row);
    return row;
  }

  #rows() { return [...this.list.children]; }

  #finding(row) {
    return Object.fromEntries(PARTS.map((part) => [part, row.querySelector(`[name$="-${part}"]`).value]));
  }

  #snapshot() {
    const { label, confidence, findings, note } = this.read();
    return JSON.stringify({ label, confidence, findings, note });
  }

  #changed() { this.dispatchEvent(new Event("changed")); }

  // Typing is one change until the field is left, so that undo goes back by what one did and not by letters.
  #committed() {
    const now = this.#snapshot();
    if (now === this.last) return;
    this.past.push(this.last);
    this.last = now;
    this.#drawUndo();
  }

  #drawUndo() {
    document.querySelector('[data-act="undo"]').disabled = this.past.length === 0;
  }
}
