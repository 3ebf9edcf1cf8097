// What is typed: undo, and the fields that say how the page is shown; on the labelling page findings that come and go.
const PARTS = ["side", "start", "end", "text", "error_class"];
const TEXTS = ["text", "start", "end", "error_class"];

// A form that can be read, written and undone. Its kinds have `read` and `write`, and call `begin` once they are ready.
export class WorkForm {
  constructor(life) {
    this.onchange = () => {};
    const options = { signal: life.signal };
    document.addEventListener("input", (event) => event.target.form === this.element && this.onchange(), options);
    document.addEventListener("change", (event) => event.target.form === this.element && this.committed(), options);
  }

  // Found again each time: a refused lock brings the form back from the site with its errors.
  get element() { return document.getElementById("label-form"); }

  get fields() { return this.element.elements; }

  begin() {
    this.past = [];
    this.last = JSON.stringify(this.read());
  }

  written() {
    this.last = JSON.stringify(this.read());
    this.onchange();
  }

  choose(name, value) {
    for (const radio of this.fields[name]) radio.checked = radio.value === value;
    this.changed();
  }

  // How the page is shown is saved with what is typed.
  set(name, value) {
    if (this.fields[name].value === String(value)) return;
    this.fields[name].value = value;
    this.onchange();
  }

  undo() {
    const before = this.past.pop();
    if (!before) return "there is nothing to undo.";
    this.write(JSON.parse(before));
    this.#drawUndo();
  }

  changed() {
    this.onchange();
    this.committed();
  }

  // Typing is one change until the field is left, so that undo goes back by whole changes and not by characters.
  committed() {
    const now = JSON.stringify(this.read());
    if (now === this.last) return;
    this.past.push(this.last);
    this.last = now;
    this.#drawUndo();
  }

  #drawUndo() {
    document.querySelector('[data-act="undo"]').disabled = this.past.length === 0;
  }
}

export class LabelForm extends WorkForm {
  constructor(life) {
    super(life);
    this.current = null;
    this.onfinding = () => {};
    const blank = this.#rows().filter((row) => TEXTS.every((part) => !this.#part(row, part).value));
    blank.forEach((row) => row.remove());
    this.#number();
    this.begin();
    const options = { signal: life.signal };
    document.addEventListener("click", (event) => {
      const button = event.target.closest('[data-act="remove-finding"]');
      if (button) this.#remove(button.closest(".finding"));
    }, options);
    document.addEventListener("focusin", (event) => {
      const row = event.target.closest("#label-findings .finding");
      if (!row) return;
      this.current = row;
      this.onfinding(this.#finding(row));
    }, options);
  }

  read() {
    const { label, confidence, note } = this.fields;
    const findings = this.#rows().map((row) => this.#finding(row));
    return { label: label.value, confidence: confidence.value, note: note.value, findings };
  }

  write(typed) {
    for (const name of ["label", "confidence"]) {
      for (const radio of this.fields[name]) radio.checked = radio.value === String(typed[name] ?? "");
    }
    this.fields.note.value = typed.note ?? "";
    document.getElementById("label-findings").replaceChildren();
    for (const finding of typed.findings ?? []) this.#append(finding);
    this.written();
  }

  // From low to high, and from there to low again.
  nextConfidence() {
    const levels = [...this.fields.confidence];
    this.choose("confidence", levels[(levels.findIndex((radio) => radio.checked) + 1) % levels.length].value);
  }

  addFinding(finding) {
    const row = this.#append(finding);
    this.changed();
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

  #remove(row) {
    const rows = this.#rows();
    const place = rows.indexOf(row);
    row.remove();
    this.#number();
    (rows[place + 1] ?? rows[place - 1] ?? document.querySelector('[data-act="add-finding"]')).focus();
    this.changed();
  }

  #append(finding) {
    const row = document.getElementById("finding-template").content.firstElementChild.cloneNode(true);
    for (const part of PARTS) this.#part(row, part).value = finding[part] ?? (part === "side" ? "candidate" : "");
    document.getElementById("label-findings").append(row);
    this.#number();
    return row;
  }

  // Django's formsets count their rows.
  #number() {
    const rows = this.#rows();
    rows.forEach((row, number) => {
      for (const part of PARTS) {
        const input = this.#part(row, part);
        input.name = `finding-${number}-${part}`;
        input.id = `id_${input.name}`;
      }
    });
    this.fields["finding-TOTAL_FORMS"].value = rows.length;
  }

  #rows() { return [...document.getElementById("label-findings").children]; }

  #part(row, part) { return row.querySelector(`[name$="-${part}"]`); }

  #finding(row) { return Object.fromEntries(PARTS.map((part) => [part, this.#part(row, part).value])); }
}
