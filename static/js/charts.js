// The points of charts: their texts beside the pointer, and one by one by the arrow keys. Charts are drawn by the server;
// without this script a browser shows the texts as titles, and the tables hold the same data.
(() => {
  "use strict";
  const NEAR = 28;

  const enhance = (figure) => {
    const drawing = figure.querySelector("svg.drawing");
    const marks = [...drawing.querySelectorAll(".mark")];
    if (!marks.length) return;
    // A title would appear as a second text beside ours.
    const texts = new Map(marks.map((mark) => {
      const title = mark.querySelector("title");
      title.remove();
      return [mark, title.textContent];
    }));

    const tip = document.createElement("p");
    tip.className = "chart-tip";
    tip.hidden = true;
    const status = document.createElement("p");
    status.className = "visually-hidden";
    status.setAttribute("role", "status");
    figure.append(tip, status);

    let at = -1;
    const show = (mark) => {
      marks.forEach((each) => each.classList.toggle("active", each === mark));
      tip.hidden = !mark;
      if (!mark) return;
      tip.textContent = texts.get(mark);
      const shape = mark.lastElementChild.getBoundingClientRect();
      const around = figure.getBoundingClientRect();
      const middle = shape.left + shape.width / 2 - around.left;
      tip.style.left = `${Math.max(0, Math.min(middle - tip.offsetWidth / 2, around.width - tip.offsetWidth))}px`;
      tip.style.top = `${shape.top - around.top - tip.offsetHeight - 6}px`;
    };

    const distance = (mark, x, y) => {
      const { left, right, top, bottom } = mark.lastElementChild.getBoundingClientRect();
      return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
    };
    const nearest = (x, y) => {
      let found = null, least = NEAR;
      for (const mark of marks) {
        const away = distance(mark, x, y);
        if (away < least) [found, least] = [mark, away];
      }
      return found;
    };
    const point = (event) => show(event.target.closest?.(".mark") ?? nearest(event.clientX, event.clientY));
    drawing.addEventListener("pointermove", point);
    drawing.addEventListener("pointerdown", point);
    drawing.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(null); });

    figure.tabIndex = 0;
    figure.setAttribute("role", "application");
    figure.setAttribute("aria-roledescription", "chart");
    figure.setAttribute("aria-label", `${drawing.getAttribute("aria-label")}. Arrow keys read its points.`);
    // The points are read one by one; the names and numbers are in the table.
    drawing.setAttribute("aria-hidden", "true");
    const close = () => {
      at = -1;
      status.textContent = "";
      show(null);
    };
    figure.addEventListener("blur", close);
    figure.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return close();
      const last = marks.length - 1;
      const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
      if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      at = Math.min(Math.max(next, 0), last);
      status.textContent = texts.get(marks[at]);
      show(marks[at]);
    });
  };

  document.querySelectorAll("figure.chart").forEach(enhance);

  // The list of figures follows: the one in view is marked.
  const links = new Map([...document.querySelectorAll(".figure-list a")].map((link) => [link.hash.slice(1), link]));
  const current = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) links.get(target.id).setAttribute("aria-current", "true");
      else links.get(target.id).removeAttribute("aria-current");
    }
  }, { rootMargin: "-20% 0px -55% 0px" });
  document.querySelectorAll(".figures > section").forEach((section) => current.observe(section));
})();
