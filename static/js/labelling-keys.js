// Shortcuts: off while one types, remappable, and none of them where they are switched off.
const TYPING = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const WRITES = new Set(["find", "search_paper"]);
const PAUSE = 1000;

// As the profile writes keys: "Ctrl+Enter", "j", "?"; Shift only where the key does not say it already.
export function named(event) {
  const single = event.key.length === 1;
  const key = event.key === " " ? "Space" : single ? event.key.toLowerCase() : event.key;
  const letter = single && /[a-z]/i.test(event.key);
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  if (event.shiftKey && (letter || !single)) parts.push("Shift");
  return [...parts, key].join("+");
}

// An action that cannot act returns the reason, which `say` shows. `leave` is called when Escape ends typing.
export function startKeys(keys, actions, { say, leave }) {
  const byKey = new Map(Object.entries(keys).filter(([, key]) => key).map(([action, key]) => [key, action]));
  let refused = -Infinity;
  document.addEventListener("keydown", async (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const typing = event.target.matches?.(TYPING);
    if (event.key === "Escape" && typing && !event.target.closest("dialog")) return void leave();
    const name = named(event);
    const commands = /^(Ctrl|Alt)\+/.test(name);
    if (typing && !commands) return;
    // A key was refused that would have led to a field: the rest of the words that were meant for it do nothing.
    if (!commands && event.key.length === 1 && performance.now() - refused < PAUSE) {
      refused = performance.now();
      return void event.preventDefault();
    }
    const action = byKey.get(name);
    if (!action) return;
    event.preventDefault();
    const dialog = document.querySelector("dialog[open]");
    const closes = { help: "keys-help", guidelines: "guidelines", skip: "leave" }[action];
    const why = dialog && dialog.id !== closes ? "Close this first, with Esc." : await actions[action]();
    if (why && WRITES.has(action)) refused = performance.now();
    say(why ? `${name}: ${why}` : "");
  });
}
