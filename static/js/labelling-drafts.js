// Saving as one types: on the server with a version, and in this browser whenever the server cannot be reached.
const SAVE_AFTER = 1000;
const ACTIVE_FOR = 60_000;
const RETRY = [3000, 6000, 15_000, 30_000];

const typed = (draft) => JSON.stringify([
  draft.label || "", draft.confidence || null, draft.note || "",
  (draft.findings || []).map((row) => ["side", "start", "end", "text", "error_class"].map((part) => String(row[part] ?? ""))),
]);

// This browser's store may be closed (private mode) or full: the site still has what was saved.
const read = (key) => {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
};
const write = (key, value) => {
  try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* see above */ }
};
const remove = (key) => {
  try { localStorage.removeItem(key); } catch { /* see above */ }
};

export class Drafts {
  constructor(work, form, stored) {
    this.places = work.dataset;
    this.form = form;
    this.version = stored.version;
    this.base = typed(stored.draft);
    this.key = `lmr-board-label-${work.dataset.assignment}`;
    this.aside = `${this.key}-aside`;
    this.lease = Number(work.dataset.leaseSeconds) * 1000;
    this.state = document.getElementById("save-state");
    this.banners = document.getElementById("banners");
    this.active = 0;
    this.lastInput = Date.now();
    this.failures = 0;
    this.dirty = false;
    this.stopped = false;
    this.#listen();
    this.#offerKept(stored.draft);
    this.#beat();
  }

  #listen() {
    this.form.addEventListener("changed", () => this.#changed());
    for (const kind of ["keydown", "pointerdown", "pointermove", "wheel"]) {
      addEventListener(kind, () => { this.lastInput = Date.now(); }, { passive: true, capture: true });
    }
    addEventListener("focusout", () => this.dirty && this.save());
    addEventListener("pagehide", () => this.dirty && this.save({ keepalive: true }));
    addEventListener("online", () => this.dirty && this.save());
    document.addEventListener("visibilitychange", () => document.hidden && this.dirty && this.save({ keepalive: true }));
    setInterval(() => {
      if (!document.hidden && Date.now() - this.lastInput < ACTIVE_FOR) this.active += 1;
    }, 1000);
  }

  #changed() {
    this.dirty = true;
    this.#keep();
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = setTimeout(() => this.save(), SAVE_AFTER);
  }

  // One request at a time: a second one would carry a version that the first is about to replace.
  async save({ keepalive = false } = {}) {
    if (this.stopped) return false;
    if (this.saving) { this.again = true; return this.saving; }
    clearTimeout(this.timer);
    this.saving = this.#send(keepalive);
    const saved = await this.saving;
    this.saving = null;
    if (this.again) { this.again = false; if (this.dirty) return this.save(); }
    return saved;
  }

  async #send(keepalive) {
    const draft = this.form.read();
    const seconds = this.active;
    this.#say("Saving…");
    this.dirty = false;
    const answer = await this.post(this.places.draft, { draft, version: this.version, active_seconds: seconds }, keepalive);
    if (answer.status === 200) {
      this.version = answer.data.version;
      this.base = typed(draft);
      this.active -= seconds;
      this.#saved();
      return true;
    }
    this.dirty = true;
    this.#refused(answer);
    return false;
  }

  // Status 0 stands for an answer that did not come, or is not ours (a sign-in page).
  async post(address, body, keepalive = false) {
    const token = this.form.element.elements.csrfmiddlewaretoken.value;
    try {
      const response = await fetch(address, {
        method: "POST", body: JSON.stringify(body), keepalive, redirect: "manual",
        headers: { "Content-Type": "application/json", "X-CSRFToken": token },
      });
      if (response.type === "opaqueredirect" || response.status === 403) return { status: 403, data: {} };
      return { status: response.status, data: await response.json() };
    } catch {
      return { status: 0, data: {} };
    }
  }

  #saved() {
    this.failures = 0;
    this.#clear();
    if (!this.dirty) this.forget();
    this.#say(`Saved ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })}`);
  }

  #refused({ status, data }) {
    if (status === 409) return this.#conflict(data);
    if (status === 410) return this.lost(data);
    if (status === 400) return this.#banner("invalid", data.message, []);
    if (status === 403) {
      return this.#banner("signed-out", "You are signed out. What you type is kept in this browser: sign in in another tab, then reload this page.", []);
    }
    this.#unreachable();
  }

  #unreachable() {
    const wait = RETRY[Math.min(this.failures, RETRY.length - 1)];
    this.failures += 1;
    this.#say("Not saved");
    this.#banner("offline", "Not saved: the site cannot be reached. What you type is kept in this browser and sent as soon as it can be.", [
      ["Try now", () => this.save()],
    ]);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), wait);
  }

  // Only text that was typed on both sides is worth a question: pages and tabs of the view are not, nor is text that
  // this tab saved while it was being reloaded.
  #conflict({ message, draft, version }) {
    const mine = typed(this.form.read());
    const theirText = typed(draft);
    if (mine === theirText || theirText === this.base || mine === this.base) {
      this.version = version;
      this.again = true;
      if (mine === this.base && theirText !== this.base) this.#adopt(draft);
      return;
    }
    this.stopped = true;
    this.#say("Not saved");
    const goOn = (then) => { this.stopped = false; this.version = version; this.#clear(); then(); this.save(); };
    const theirs = `${draft.label || "no verdict"}, ${(draft.findings || []).length} findings, note: ${draft.note || "none"}`;
    this.#banner("conflict", `${message} The other one: ${theirs}`, [
      ["Keep mine", () => goOn(() => {})],
      ["Take the other", () => goOn(() => this.form.write(draft))],
    ]);
  }

  #adopt(draft) {
    this.base = typed(draft);
    this.form.write(draft);
    if (typed(read(this.aside)?.draft ?? {}) !== this.base) return;
    remove(this.aside);
    this.#clear("kept");
  }

  lost({ message, version }) {
    this.stopped = true;
    this.#keep();
    this.#say("Not held any more");
    this.#banner("lost", `${message} What stands here is kept in this browser too.`, [
      ["Take it up again", () => this.#resume(version)],
    ]);
  }

  async #resume() {
    const answer = await this.post(this.places.resume, {});
    if (answer.status !== 200) return this.#refused(answer);
    this.stopped = false;
    this.version = answer.data.version;
    this.#clear();
    this.save();
  }

  // A tab that nobody has used for as long as a lease lasts stops renewing it: others wait for the item.
  #beat() {
    const every = Math.min(60_000, this.lease / 3);
    setInterval(async () => {
      if (this.stopped || this.saving || Date.now() - this.lastInput > this.lease) return;
      if (this.dirty) return void this.save();
      const answer = await this.post(this.places.draft, { draft: null, version: this.version, active_seconds: 0 });
      if (answer.status !== 200 && answer.status !== 0) this.#refused(answer);
    }, every);
  }

  #keep() { write(this.key, { draft: this.form.read(), at: Date.now() }); }

  forget() { remove(this.key); }

  // What was found is put aside, so that typing on does not overwrite it before one has chosen.
  #offerKept(stored) {
    const kept = read(this.key) ?? read(this.aside);
    this.forget();
    if (!kept?.draft || typed(kept.draft) === typed(stored)) return remove(this.aside);
    write(this.aside, kept);
    const when = new Date(kept.at).toLocaleString();
    this.#banner("kept", `This browser has text of ${when} that was not saved on the site.`, [
      ["Use it", () => { remove(this.aside); this.#clear("kept"); this.form.write(kept.draft); this.save(); }],
      ["Discard it", () => { remove(this.aside); this.#clear("kept"); }],
    ]);
  }

  #banner(kind, text, buttons) {
    if (this.banners.querySelector(`[data-kind="${kind}"]`) && kind === "offline") return;
    this.#clear(kind);
    this.#clear();
    const box = document.createElement("div");
    box.className = "callout warning by-script";
    box.dataset.kind = kind;
    box.setAttribute("role", "alert");
    const words = document.createElement("p");
    words.textContent = text;
    box.append(words);
    for (const [name, act] of buttons) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet";
      button.textContent = name;
      button.addEventListener("click", act);
      box.append(button);
    }
    this.banners.append(box);
  }

  // An offer of kept text stays until one has chosen; everything else goes when it is over.
  #clear(kind = "") {
    const which = kind ? `[data-kind="${kind}"]` : '.by-script:not([data-kind="kept"])';
    this.banners.querySelectorAll(which).forEach((box) => box.remove());
  }

  #say(text) { this.state.textContent = text; }
}
