// Saving as one types, by htmx; and a copy in this browser until the site has confirmed it.
const SAVE_AFTER = 700;
const ACTIVE_FOR = 60_000;
const RETRY_AFTER = 5000;
const ANSWERED = [401, 403, 409, 410, 422];

// This browser's store may be closed (private mode) or full: the site still has what was saved.
const read = (key) => {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
};
const write = (key, value) => {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch { /* see above */ }
};

export class Drafts {
  constructor(work, form, life) {
    this.form = form;
    this.key = `lmr-board-label-${work.dataset.assignment}`;
    this.dirty = false;
    this.locking = false;
    this.sent = 0;
    this.lastInput = Date.now();
    this.onrefused = () => {};
    form.onchange = () => this.#changed();
    this.#listen(life.signal);
    this.#offerKept();
    const beat = Math.min(60_000, Number(work.dataset.leaseSeconds) * 1000 / 3);
    const timers = [
      setInterval(() => this.#count(), 1000),
      // Saving renews the lease. A tab unused for as long as a lease lasts lets others have the item.
      setInterval(() => Date.now() - this.lastInput < 3 * beat && this.save(), beat),
    ];
    life.signal.addEventListener("abort", () => [...timers, this.timer].forEach(clearInterval));
  }

  save() {
    clearTimeout(this.timer);
    if (this.locking) return;
    htmx.trigger(this.form.element, "save");
  }

  #listen(signal) {
    const passive = { passive: true, capture: true, signal };
    for (const kind of ["keydown", "pointerdown", "pointermove", "wheel"]) {
      addEventListener(kind, () => { this.lastInput = Date.now(); }, passive);
    }
    addEventListener("focusout", () => this.dirty && this.save(), { signal });
    addEventListener("online", () => this.dirty && this.save(), { signal });
    // Nothing is saved while a lock is being sent.
    document.addEventListener("submit", (event) => {
      if (event.target !== this.form.element) return;
      clearTimeout(this.timer);
      this.locking = true;
    }, { signal, capture: true });
    addEventListener("pagehide", () => {
      if (this.dirty) navigator.sendBeacon(this.form.element.action, new FormData(this.form.element));
    }, { signal });
    const body = document.body;
    // htmx remembers the button that was pressed last; an automatic save must never lock.
    body.addEventListener("htmx:configRequest", (event) => {
      const { elt, parameters, triggeringEvent } = event.detail;
      if (elt.id !== "label-form") return;
      parameters.act = triggeringEvent?.submitter?.value ?? "save";
      parameters.version = document.querySelector("#save-state [name=version]").value;
    }, { signal });
    body.addEventListener("htmx:beforeRequest", (event) => this.#mine(event) && this.#sending(), { signal });
    // A refusal has a page or a fragment too, with the reason.
    body.addEventListener("htmx:beforeSwap", (event) => {
      if (!this.#mine(event)) return;
      const { status } = event.detail.xhr;
      event.detail.shouldSwap = status === 200 || (ANSWERED.includes(status) && status > 403);
    }, { signal });
    body.addEventListener("htmx:afterRequest", (event) => {
      if (!this.#mine(event)) return;
      const { xhr, requestConfig } = event.detail;
      if (requestConfig.triggeringEvent?.type === "submit" && xhr.status !== 200) this.locking = false;
      this.#answered(xhr);
    }, { signal });
  }

  #mine(event) { return event.detail.requestConfig.elt.id === "label-form"; }

  #changed() {
    this.dirty = true;
    write(this.key, { typed: this.form.read(), at: Date.now() });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), SAVE_AFTER);
  }

  #sending() {
    this.dirty = false;
    this.sent = Number(this.form.fields.active_seconds.value);
  }

  #answered({ status }) {
    if (status < 200 || status >= 500 || status === 401 || status === 403) {
      this.dirty = true;
      this.#show(status === 401 || status === 403 ? "signed-out" : "offline");
      clearTimeout(this.timer);
      if (status !== 401 && status !== 403) this.timer = setTimeout(() => this.save(), RETRY_AFTER);
      return;
    }
    this.#show("");
    if (status === 422) this.onrefused();
    if (status >= 400) return;
    this.form.fields.active_seconds.value -= this.sent;
    if (!this.dirty) this.forget();
  }

  // The offer of kept text stays until it is used or discarded; other warnings end with their cause.
  #show(trouble) {
    for (const box of document.querySelectorAll("[data-trouble]:not([data-trouble=kept])")) {
      box.hidden = box.dataset.trouble !== trouble;
    }
    if (trouble) document.querySelector("#save-state span").textContent = "Not saved";
  }

  #count() {
    if (document.hidden || Date.now() - this.lastInput > ACTIVE_FOR) return;
    this.form.fields.active_seconds.value = Number(this.form.fields.active_seconds.value) + 1;
  }

  forget() {
    this.dirty = false;
    write(this.key, null);
  }

  // Kept text is put aside, so that typing does not overwrite it before it is used or discarded.
  #offerKept() {
    const aside = `${this.key}-aside`;
    const kept = read(this.key) ?? read(aside);
    write(this.key, null);
    const box = document.querySelector("[data-trouble=kept]");
    this.useKept = () => { this.dropKept(); this.form.write(kept.typed); };
    this.dropKept = () => { write(aside, null); box.hidden = true; };
    if (!kept?.typed || JSON.stringify(kept.typed) === JSON.stringify(this.form.read())) return write(aside, null);
    write(aside, kept);
    box.querySelector("[data-when]").textContent = new Date(kept.at).toLocaleString();
    box.hidden = false;
  }
}
