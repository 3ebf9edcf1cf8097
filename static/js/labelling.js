// The labelling page. Without scripts it is plain forms.
import { LabelForm } from "./labelling-form.js";
import { forEachItem, Workbench } from "./labelling-workbench.js";

forEachItem((work, life) => {
  const form = new LabelForm(life);
  const bench = new Workbench(work, form, life);
  const { comparison, panes } = bench;
  const showFinding = (item) => {
    panes.show("pane-label");
    if (!item) return form.read().findings.length ? "there is no further finding." : "there is no finding yet.";
    form.focusFinding(item);
  };
  const write = (finding) => { panes.show("pane-label"); form.addFinding(finding).querySelector("textarea").focus(); };
  form.onfinding = (finding) => comparison.reveal(finding);

  const actions = {
    next_finding: () => showFinding(form.neighbour(1)),
    previous_finding: () => showFinding(form.neighbour(-1)),
    skip: () => bench.toggle("leave"),
    next_confidence: () => form.nextConfidence(),
    add_finding: () => write({}),
    find: () => {
      const chosen = comparison.chosen();
      if (!chosen) return "there is no line to choose.";
      write(chosen);
    },
  };
  bench.run(actions, { leave: actions.skip, "add-finding": actions.add_finding });

  // A refusal in a dialog is shown there, with what was typed.
  const refused = document.querySelector("dialog[data-opens]");
  if (refused) {
    refused.showModal();
    refused.querySelector("[autofocus]")?.focus();
  } else {
    comparison.focus({ atStart: true });
  }
});
