// What labelling and adjudicating share: comparison, panes, paper, drafts, dialogs, keys and buttons.
import { Comparison } from "./labelling-comparison.js";
import { Drafts } from "./labelling-drafts.js";
import { startKeys } from "./labelling-keys.js";
import { startPanes } from "./labelling-panes.js";
import { startPaper } from "./labelling-paper.js";

export class Workbench {
  constructor(work, form, life) {
    this.form = form;
    this.life = life;
    this.drafts = new Drafts(work, form, life);
    this.comparison = new Comparison(work, form, life);
    this.panes = startPanes(work, (tab) => form.set("tab", tab), form.fields.tab.value || undefined);
    startPaper(document.getElementById("paper"), this.panes, form);
    const { onchange } = form;
    form.onchange = () => { onchange(); this.comparison.drawFindings(); };
    this.drafts.onrefused = () => this.panes.show("pane-label");
    // Shown where it is seen: an open dialog makes the rest of the page inert.
    this.said = document.getElementById("key-said");
    this.bar = this.said.parentElement;
  }

  say(text) {
    (document.querySelector("dialog[open] > div") ?? this.bar).prepend(this.said);
    this.said.textContent = text;
  }

  toggle(id) {
    const dialog = document.getElementById(id);
    if (dialog.open) return dialog.close();
    dialog.showModal();
    // A long list is read from its top, and not from its first link.
    dialog.querySelector("[data-first]")?.focus();
  }

  #pane(id) {
    if (!document.getElementById(id)) return "the answer changes nothing else.";
    this.form.set("tab", this.panes.show(id, { focus: true }));
  }

  #search() {
    this.#pane("pane-paper");
    const field = document.querySelector('#pane-paper [data-paper="query"]');
    if (field) return field.focus();
    if (!document.querySelector("#pane-paper .paper-text")) return "there is no paper to search here.";
    return "the paper is plain text here; search it with the browser (Ctrl+F).";
  }

  get #actions() {
    return {
      label_cc: () => this.form.choose("label", "CC"),
      label_lc: () => this.form.choose("label", "LC"),
      label_li: () => this.form.choose("label", "LI"),
      toggle_diff: () => this.comparison.toggleLayout(),
      guidelines: () => this.toggle("guidelines"),
      note: () => { this.panes.show("pane-label"); document.getElementById("note").focus(); },
      undo: () => this.form.undo(),
      help: () => this.toggle("keys-help"),
      submit: () => document.querySelector('[data-act="lock"]').click(),
      ignore_blanks: () => this.comparison.toggleWhitespace(),
      unfold: () => this.comparison.unfoldAll(),
      wide: () => this.comparison.toggleWide(),
      search_paper: () => this.#search(),
      save: () => this.drafts.save(),
      ...Object.fromEntries(["label", "judges", "tests", "task", "paper", "code", "changes"].map(
        (name) => [`pane_${name}`, () => this.#pane(`pane-${name}`)],
      )),
    };
  }

  // Start keys and buttons: the shared ones, and the page's own.
  run(ownActions, ownButtons) {
    const actions = { ...this.#actions, ...ownActions };
    startKeys(JSON.parse(document.getElementById("label-keys").textContent), actions, {
      say: (text) => this.say(text), leave: () => this.comparison.focus(), signal: this.life.signal,
    });
    const buttons = {
      find: actions.find,
      layout: actions.toggle_diff,
      help: actions.help,
      guidelines: actions.guidelines,
      undo: actions.undo,
      whitespace: actions.ignore_blanks,
      unfold: actions.unfold,
      wide: actions.wide,
      save: actions.save,
      close: (button) => button.closest("dialog").close(),
      "keep-mine": (button) => { this.form.fields.version.value = button.value; this.drafts.save(); },
      "take-other": (link) => { this.drafts.forget(); location.assign(link.href); },
      "use-kept": () => this.drafts.useKept(),
      "drop-kept": () => this.drafts.dropKept(),
      ...ownButtons,
    };
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-act]");
      const act = button && buttons[button.dataset.act];
      if (!act) return;
      event.preventDefault();
      this.say("");
      act(button);
    }, { signal: this.life.signal });
  }
}

// Call `start` for the page's item, and for each that htmx puts in its place without reloading the page.
export function forEachItem(start) {
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
}
