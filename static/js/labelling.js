// The labelling page. Each part has a module of its own; this one joins them. Without scripts the page is plain forms.
import { Comparison } from "./labelling-comparison.js";
import { Drafts } from "./labelling-drafts.js";
import { LabelForm } from "./labelling-form.js";
import { startKeys } from "./labelling-keys.js";
import { startPanes } from "./labelling-panes.js";
import { startPaper } from "./labelling-paper.js";

function start(work, life) {
  const form = new LabelForm(life);
  const drafts = new Drafts(work, form, life);
  const comparison = new Comparison(work, form, life);
  const panes = startPanes(work, (tab) => form.set("tab", tab), form.fields.tab.value || undefined);
  startPaper(document.getElementById("paper"), panes, form);
  const { onchange } = form;
  form.onchange = () => { onchange(); comparison.drawFindings(); };
  drafts.onrefused = () => panes.show("pane-label");

  const dialogs = {
    leave: document.getElementById("leave"),
    help: document.getElementById("keys-help"),
    guidelines: document.getElementById("guidelines"),
  };
  const toggle = (dialog) => {
    if (dialog.open) return dialog.close();
    dialog.showModal();
    // A long list is read from its top, and not from its first link.
    dialog.querySelector("[data-first]")?.focus();
  };
  const pane = (id) => {
    if (!document.getElementById(id)) return "the answer changes nothing else.";
    form.set("tab", panes.show(id, { focus: true }));
  };
  const showFinding = (item) => {
    panes.show("pane-label");
    if (!item) return form.read().findings.length ? "there is no further finding." : "there is no finding yet.";
    form.focusFinding(item);
  };
  const write = (finding) => { panes.show("pane-label"); form.addFinding(finding).querySelector("textarea").focus(); };
  // Said where it is seen: an open dialog makes the rest of the page inert.
  const said = document.getElementById("key-said");
  const bar = said.parentElement;
  const say = (text) => {
    (document.querySelector("dialog[open] > div") ?? bar).prepend(said);
    said.textContent = text;
  };
  form.onfinding = (finding) => comparison.reveal(finding);

  const actions = {
    label_cc: () => form.choose("label", "CC"),
    label_lc: () => form.choose("label", "LC"),
    label_li: () => form.choose("label", "LI"),
    next_finding: () => showFinding(form.neighbour(1)),
    previous_finding: () => showFinding(form.neighbour(-1)),
    toggle_diff: () => comparison.toggleLayout(),
    guidelines: () => toggle(dialogs.guidelines),
    note: () => { panes.show("pane-label"); document.getElementById("note").focus(); },
    skip: () => toggle(dialogs.leave),
    undo: () => form.undo(),
    help: () => toggle(dialogs.help),
    submit: () => document.querySelector('[data-act="lock"]').click(),
    next_confidence: () => form.nextConfidence(),
    add_finding: () => write({}),
    ignore_blanks: () => comparison.toggleWhitespace(),
    unfold: () => comparison.unfoldAll(),
    wide: () => comparison.toggleWide(),
    pane_label: () => pane("pane-label"),
    pane_task: () => pane("pane-task"),
    pane_paper: () => pane("pane-paper"),
    pane_code: () => pane("pane-code"),
    pane_changes: () => pane("pane-changes"),
    search_paper: () => {
      pane("pane-paper");
      const field = document.querySelector('#pane-paper [data-paper="query"]');
      if (field) return field.focus();
      if (!document.querySelector("#pane-paper .paper-text")) return "there is no paper to search here.";
      return "the paper is plain text here; search it with the browser (Ctrl+F).";
    },
    save: () => drafts.save(),
    find: () => {
      const chosen = comparison.chosen();
      if (!chosen) return "there is no line to choose.";
      write(chosen);
    },
  };
  startKeys(JSON.parse(document.getElementById("label-keys").textContent), actions, {
    say, leave: () => comparison.focus(), signal: life.signal,
  });
  // What was refused in a dialog is said there, with what was typed.
  const refused = document.querySelector("dialog[data-opens]");
  if (refused) {
    refused.showModal();
    refused.querySelector("[autofocus]")?.focus();
  } else {
    comparison.focus({ scroll: false });
  }

  const buttons = {
    find: actions.find,
    layout: actions.toggle_diff,
    help: actions.help,
    guidelines: actions.guidelines,
    leave: actions.skip,
    undo: actions.undo,
    whitespace: actions.ignore_blanks,
    unfold: actions.unfold,
    wide: actions.wide,
    save: actions.save,
    "add-finding": actions.add_finding,
    close: (button) => button.closest("dialog").close(),
    "keep-mine": (button) => { form.fields.version.value = button.value; drafts.save(); },
    "take-other": (link) => { drafts.forget(); location.assign(link.href); },
    "use-kept": () => drafts.useKept(),
    "drop-kept": () => drafts.dropKept(),
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    const act = button && buttons[button.dataset.act];
    if (!act) return;
    event.preventDefault();
    say("");
    act(button);
  }, { signal: life.signal });
}

// The next item is put in the place of this one, without the page being loaded again.
let life = null;
const begin = () => {
  const work = document.getElementById("label-work");
  if (work?.dataset.started) return;
  life?.abort();
  life = new AbortController();
  if (!work) return;
  work.dataset.started = "yes";
  start(work, life);
};
htmx.onLoad(begin);
begin();
