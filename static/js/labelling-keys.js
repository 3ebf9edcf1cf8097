// Shortcuts: off while one types, remappable, and none of them where they are switched off.
const TYPING = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

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

export function startKeys(keys, actions) {
  const byKey = new Map(Object.entries(keys).filter(([, key]) => key).map(([action, key]) => [key, action]));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const typing = event.target.matches?.(TYPING);
    if (event.key === "Escape" && typing && !event.target.closest("dialog")) return void event.target.blur();
    const name = named(event);
    const action = byKey.get(name);
    if (!action || (typing && !/^(Ctrl|Alt)\+/.test(name))) return;
    const dialog = document.querySelector("dialog[open]");
    const closes = { help: "keys-help", guidelines: "guidelines", skip: "leave" }[action];
    if (dialog && dialog.id !== closes) return;
    event.preventDefault();
    actions[action]();
  });
}
