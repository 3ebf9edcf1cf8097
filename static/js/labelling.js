// The labelling page. Each part has a module of its own; this one joins them. Without scripts the page is plain forms.
import { Comparison } from "./labelling-comparison.js";
import { Drafts } from "./labelling-drafts.js";
import { LabelForm } from "./labelling-form.js";
import { startKeys } from "./labelling-keys.js";
import { startLocking } from "./labelling-locking.js";
import { startPanes } from "./labelling-panes.js";
import { startPaper } from "./labelling-paper.js";

const work = document.getElementById("label-work");
const json = (id) => JSON.parse(document.getElementById(id).textContent);
document.documentElement.classList.add("has-js");

const form = new LabelForm(document.getElementById("label-form"), json("label-draft").draft);
const comparison = new Comparison(work, form);
const drafts = new Drafts(work, form, json("label-draft"));
const panes = startPanes(work, (tab) => form.setView({ tab }), form.view.tab);
startPaper(document.getElementById("paper"), panes, form);

const dialogs = {
  leave: document.getElementById("leave"),
  help: document.getElementById("keys-help"),
  guidelines: document.getElementById("guidelines"),
};
const toggle = (dialog) => (dialog.open ? dialog.close() : dialog.showModal());
const showFinding = (item) => { panes.show("pane-label"); form.focusFinding(item); };
form.onfinding = (finding) => comparison.reveal(finding);

const actions = {
  label_li: () => form.choose("LI"),
  label_lc: () => form.choose("LC"),
  label_cc: () => form.choose("CC"),
  next_finding: () => showFinding(form.neighbour(1)),
  previous_finding: () => showFinding(form.neighbour(-1)),
  toggle_diff: () => comparison.toggleLayout(),
  guidelines: () => toggle(dialogs.guidelines),
  note: () => { panes.show("pane-label"); document.getElementById("note").focus(); },
  skip: () => toggle(dialogs.leave),
  undo: () => form.undo(),
  help: () => toggle(dialogs.help),
  submit: () => document.querySelector('[data-act="lock"]').click(),
  find: () => {
    const chosen = comparison.chosen();
    if (!chosen) return;
    panes.show("pane-label");
    form.addFinding(chosen).querySelector("textarea").focus();
  },
};
startKeys(json("label-keys"), actions);
startLocking(work, form, drafts);

const buttons = {
  find: actions.find,
  layout: actions.toggle_diff,
  help: actions.help,
  guidelines: actions.guidelines,
  leave: actions.skip,
  undo: actions.undo,
  whitespace: () => comparison.toggleWhitespace(),
  unfold: (button) => comparison.unfoldAll(button),
  wide: () => comparison.toggleWide(),
  save: () => drafts.save(),
  "add-finding": () => form.addFinding({}).querySelector("textarea").focus(),
  close: (button) => button.closest("dialog").close(),
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  const act = button && buttons[button.dataset.act];
  if (!act) return;
  event.preventDefault();
  act(button);
});
