// Shortcuts: off while a field has the focus, and none if they are switched off.
const TYPING = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const WRITES = new Set(["find", "search_paper"]);
const PAUSE = 1000;

const named = (event) => {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.ctrlKey || event.metaKey ? `Ctrl+${key}` : event.altKey ? `Alt+${key}` : key;
};

// An action that cannot act returns the reason, which `say` shows. `leave` is called when Escape ends typing.
export function startKeys(keys, actions, { say, leave, signal }) {
  const byKey = new Map(Object.entries(keys).filter(([, key]) => key).map(([action, key]) => [key, action]));
  let refused = -Infinity;
  document.addEventListener("keydown", async (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const typing = event.target.matches?.(TYPING);
    if (event.key === "Escape" && typing && !event.target.closest("dialog")) return void leave();
    const name = named(event);
    const command = /^(Ctrl|Alt)\+/.test(name);
    if (typing && !command) return;
    // A key that should have led to a field was refused: the rest of what is typed for that field does nothing.
    if (!command && event.key.length === 1 && performance.now() - refused < PAUSE) {
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
  }, { signal });
}
