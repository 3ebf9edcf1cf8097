// The adjudication page: the labelling page's parts, and what annotators found, to be taken over into the decision.
import { WorkForm } from "./labelling-form.js";
import { forEachItem, Workbench } from "./labelling-workbench.js";

const SIDES = { candidate: "Answer", golden: "Reference implementation" };

class DecideForm extends WorkForm {
  constructor(life) {
    super(life);
    this.begin();
  }

  read() {
    const reasons = this.#reasons().filter((box) => box.checked).map((box) => box.value);
    return { label: this.fields.label.value, reasons, note: this.fields.note.value };
  }

  write({ label, reasons, note }) {
    for (const radio of this.fields.label) radio.checked = radio.value === label;
    for (const box of this.#reasons()) box.checked = reasons.includes(box.value);
    this.fields.note.value = note;
    this.written();
  }

  // A finding is quoted in the note on lines of its own, once.
  quote(text) {
    const { note } = this.fields;
    if (note.value.split("\n").includes(text.trim())) return;
    note.value = [note.value.trimEnd(), text].filter(Boolean).join("\n");
    note.scrollTop = note.scrollHeight;
    note.scrollIntoView({ block: "nearest" });
    this.changed();
  }

  #reasons() { return [...this.fields.reasons]; }
}

forEachItem((work, life) => {
  const form = new DecideForm(life);
  const bench = new Workbench(work, form, life);
  const { comparison, panes } = bench;
  const findings = () => [...work.querySelectorAll(".compare .finding [data-act=take]")];
  let current = null;

  const take = ({ dataset: { label, quote } }) => {
    if (label) return form.choose("label", label);
    panes.show("pane-label");
    form.quote(quote);
    bench.say("The finding is in the note.");
  };
  const show = (step) => {
    const all = findings();
    if (!all.length) return "there is no finding.";
    const place = all.indexOf(current);
    const next = all[place < 0 ? (step > 0 ? 0 : all.length - 1) : place + step];
    if (!next) return "there is no further finding.";
    next.focus();
  };
  const takeLabel = (name) => {
    const button = document.querySelector(`[data-act="take"][value="take-${name}"]`);
    if (!button) return `there is no label of annotator ${name}.`;
    take(button);
  };
  work.addEventListener("focusin", (event) => {
    const button = event.target.closest(".compare .finding [data-act=take]");
    if (!button) return;
    current = button;
    comparison.reveal(button.dataset);
    button.closest("td").scrollIntoView({ block: "nearest" });
  });

  bench.run({
    take_a: () => takeLabel("A"),
    take_b: () => takeLabel("B"),
    next_finding: () => show(1),
    previous_finding: () => show(-1),
    reasons: () => { panes.show("pane-label"); document.querySelector("#decide-reasons input").focus(); },
    find: () => {
      const finding = document.activeElement.closest(".compare .finding [data-act=take]");
      if (finding) return take(finding);
      const chosen = comparison.chosen();
      if (!chosen) return "there is no line to choose.";
      const { side, start, end } = chosen;
      panes.show("pane-label");
      form.quote(`${SIDES[side]}, ${start === end ? `line ${start}` : `lines ${start} to ${end}`}: `);
      form.fields.note.focus();
    },
  }, {
    take,
    reveal: (link) => document.querySelector(`${link.hash} [data-act=take]`).focus(),
  });
  comparison.focus({ atStart: true });
});
