// Keys, heartbeat, and a copy of what is typed, for the adjudication page. Everything works without this script, too.

const form = document.getElementById("decide-form");
const keys = JSON.parse(document.getElementById("adjudicate-keys").textContent);
const help = document.getElementById("keys-help");
const state = document.getElementById("adjudicate-state");
const banner = document.getElementById("adjudicate-banner");
const note = form.elements.namedItem("note");
const BEAT_MILLISECONDS = 60_000;
const KEPT_MILLISECONDS = 7 * 24 * 3600 * 1000;
const PREFIX = "adjudicate-";
const stored = `${PREFIX}${form.dataset.assignment}`;

const say = (text) => {
  const box = document.createElement("div");
  box.className = "callout warning";
  const line = document.createElement("p");
  line.textContent = text;
  box.append(line);
  banner.replaceChildren(box);
};

// What is typed --------------------------------------------------------------------------------------

const reasons = [...form.querySelectorAll('input[name="reasons"]')];

const typed = () => ({
  at: Date.now(),
  label: form.elements.namedItem("label").value,
  reasons: reasons.filter((box) => box.checked).map((box) => box.value),
  note: note.value,
});

const keep = () => {
  try {
    localStorage.setItem(stored, JSON.stringify(typed()));
    state.textContent = "What you type is kept in this browser.";
  } catch { /* private mode: what is typed lasts as long as the page */ }
};

const restore = () => {
  try {
    for (const name of Object.keys(localStorage).filter((each) => each.startsWith(PREFIX))) {
      if (Date.now() - JSON.parse(localStorage.getItem(name)).at > KEPT_MILLISECONDS) localStorage.removeItem(name);
    }
    const kept = JSON.parse(localStorage.getItem(stored) || "null");
    const now = typed();
    if (!kept || now.note || now.label || now.reasons.length) return;
    for (const box of reasons) box.checked = (kept.reasons || [kept.reason]).includes(box.value);
    for (const name of ["label", "note"]) form.elements.namedItem(name).value = kept[name];
    state.textContent = "What you had typed here before is restored.";
  } catch { /* nothing that could be restored */ }
};

form.addEventListener("input", keep);
restore();

// Heartbeat ------------------------------------------------------------------------------------------

const beat = async () => {
  try {
    const answer = await fetch(form.dataset.beat, {
      method: "POST",
      headers: { "X-CSRFToken": form.elements.namedItem("csrfmiddlewaretoken").value },
    });
    if (answer.ok) {
      banner.replaceChildren();
    } else if (answer.status === 410) {
      say((await answer.json()).error);
      clearInterval(beating);
    } else {
      say("The site does not know you any more. Sign in again in another tab; what you typed stays here.");
    }
  } catch {
    say("The site cannot be reached. What you typed stays in this browser.");
  }
};
const beating = setInterval(beat, BEAT_MILLISECONDS);

// Keys -----------------------------------------------------------------------------------------------

const pressed = (event) => {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const plain = key.length === 1 && !/[a-z]/.test(key);
  const modifiers = [event.ctrlKey && "Ctrl", event.altKey && "Alt", event.shiftKey && !plain && "Shift"];
  return [...modifiers.filter(Boolean), key === " " ? "Space" : key].join("+");
};

const choose = (label) => {
  const radio = form.querySelector(`input[name="label"][value="${label}"]`);
  radio.checked = true;
  radio.focus();
  keep();
};

const actions = {
  label_cc: () => choose("CC"),
  label_lc: () => choose("LC"),
  label_li: () => choose("LI"),
  note: () => note.focus(),
  guidelines: () => document.getElementById("guidelines-link").click(),
  help: () => help.showModal(),
  submit: () => form.requestSubmit(),
};

document.addEventListener("keydown", (event) => {
  if (help.open || event.metaKey) return;
  const typing = event.target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
  if (typing && event.key === "Escape") event.target.blur();
  if (typing && !event.ctrlKey && !event.altKey) return;
  const combination = pressed(event);
  const action = Object.keys(actions).find((name) => keys[name] && keys[name] === combination);
  if (!action) return;
  event.preventDefault();
  actions[action]();
});

const button = document.getElementById("keys-button");
button.hidden = false;
button.addEventListener("click", () => help.showModal());
