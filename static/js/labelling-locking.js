// Locking: errors come back beside their fields, and what could not be sent stays.
export function startLocking(work, form, drafts) {
  let busy = false;
  form.element.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (button?.dataset.act === "save" || button?.dataset.act === "whitespace") return;
    event.preventDefault();
    if (busy) return;
    busy = true;
    const then = button?.value === "home" ? "home" : "next";
    const body = { draft: form.read(), version: drafts.version, active_seconds: drafts.active, then };
    clearTimeout(drafts.timer);
    await drafts.saving;
    const answer = await drafts.post(work.dataset.lock, { ...body, version: drafts.version });
    busy = false;
    if (answer.status === 200) {
      drafts.dirty = false;
      drafts.stopped = true;
      drafts.forget();
      location.assign(answer.data.location);
      return;
    }
    if (answer.status === 400) return showErrors(form, answer.data);
    if (answer.status === 410) return drafts.lost(answer.data);
    if (!answer.status || answer.status >= 500) showErrors(form, { message: "The site cannot be reached. Lock again once the draft is saved." });
    drafts.dirty = true;
    drafts.save();
  });
}

function showErrors(form, { errors, message }) {
  document.querySelectorAll("#banners .form-errors").forEach((box) => box.remove());
  const rest = form.showErrors(errors ?? {});
  const box = document.createElement("div");
  box.className = "form-errors by-lock";
  box.setAttribute("role", "alert");
  box.textContent = `Not locked yet. ${rest.length ? rest.join(" ") : message}`;
  document.getElementById("banners").append(box);
}
