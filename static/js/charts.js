// Draw each chart from its JSON when it is about to be seen. The page's tables hold the same data without this script.
(() => {
  "use strict";
  const library = document.currentScript.dataset.plotly;
  const NARROW = matchMedia("(max-width: 40rem)");
  const LONGEST_ON_PHONES = 16, LINES_ON_PHONES = 3;
  const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&" };
  const decode = (text) => text.replace(/&(lt|gt|quot|#x27|amp);/g, (entity) => ENTITIES[entity]);
  const encode = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const cut = (text) => (text.length > LONGEST_ON_PHONES ? `${text.slice(0, LONGEST_ON_PHONES - 1)}…` : text);
  const shortened = (name) => encode(cut(decode(name)));
  // Beside a phone's bars: in a few short lines, since what is cut off may be what tells two names apart.
  const folded = (name) => {
    const lines = [""];
    for (const word of decode(name).split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (longer.length <= LONGEST_ON_PHONES || !lines.at(-1)) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    const rest = lines.splice(LINES_ON_PHONES - 1).join(" ");
    return [...lines, ...(rest ? [cut(rest)] : [])].map(encode).join("<br>");
  };
  const drawn = new Map();

  let loading;
  const plotly = () => (loading ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = library;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("the drawing library could not be loaded"));
    document.head.append(script);
  }));

  // The site's colour tokens as the browser computes them, in one of the themes or the one that is shown.
  const colours = (theme) => {
    const probe = document.createElement("span");
    if (theme) probe.dataset.theme = theme;
    document.body.append(probe);
    const known = new Map();
    const look = (name) => {
      if (!known.has(name)) {
        probe.style.color = name;
        known.set(name, getComputedStyle(probe).color);
      }
      return known.get(name);
    };
    const replace = (value) => {
      if (typeof value === "string") return value.startsWith("var(--") ? look(value) : value;
      if (Array.isArray(value)) return value.map(replace);
      if (value && typeof value === "object") {
        return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replace(inner)]));
      }
      return value;
    };
    return { replace, done: () => probe.remove() };
  };

  const coloured = (chart, { theme, narrow } = {}) => {
    const { replace, done } = colours(theme);
    const { data, layout } = replace(chart);
    done();
    layout.font.family = getComputedStyle(document.body).fontFamily;
    if (theme) layout.paper_bgcolor = layout.plot_bgcolor = layout.hoverlabel.bgcolor;
    if (narrow) {
      const upright = layout.xaxis.ticktext?.length > 4;
      for (const [axis, fitted] of [[upright && layout.xaxis, shortened], [layout.yaxis, folded]]) {
        if (axis?.ticktext) axis.ticktext = axis.ticktext.map((name) => fitted(name.replaceAll("<br>", " ")));
      }
      if (upright) layout.xaxis.tickangle = -90;
      layout.font.size = 11;
    }
    return { data, layout };
  };

  const show = async (figure) => {
    const Plotly = await plotly();
    const { data, layout } = coloured(drawn.get(figure), { narrow: NARROW.matches });
    const box = figure.querySelector(".chart-box");
    await Plotly.react(box, data, layout, { displayModeBar: false, responsive: true });
    // The names and numbers are in the table; of the drawing, screen readers get its points one by one.
    box.querySelector(".plot-container")?.setAttribute("aria-hidden", "true");
    figure.dataset.drawn = document.documentElement.dataset.theme || "system";
  };

  const points = (figure) => drawn.get(figure).data.flatMap((trace, curveNumber) =>
    (trace.hovertext || []).map((text, pointNumber) => ({ curveNumber, pointNumber, text: decode(text) })));

  const readable = (figure) => {
    const box = figure.querySelector(".chart-box");
    const status = figure.querySelector("[role=status]");
    let at = -1;
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    box.setAttribute("aria-label", `Chart: ${figure.dataset.title}. Arrow keys read its points; its data are a table below.`);
    box.addEventListener("keydown", async (event) => {
      const every = points(figure);
      const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: every.length - 1 }[event.key];
      if (event.key !== "Escape" && next === undefined) return;
      const Plotly = await plotly();
      if (event.key === "Escape") {
        at = -1;
        status.textContent = "";
        Plotly.Fx.unhover(box);
        return;
      }
      at = Math.min(Math.max(next, 0), every.length - 1);
      const { curveNumber, pointNumber, text } = every[at];
      status.textContent = text;
      Plotly.Fx.hover(box, [{ curveNumber, pointNumber }]);
    });
    box.addEventListener("keydown", (event) => {
      if (/^(Arrow|Home|End)/.test(event.key)) event.preventDefault();
    });
  };

  const offerSvg = (figure) => {
    const links = figure.closest("section").querySelector(".figure-links");
    if (!links) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "SVG";
    button.setAttribute("aria-label", `SVG of ${figure.dataset.title}`);
    button.addEventListener("click", async () => {
      const Plotly = await plotly();
      const { data, layout } = coloured(drawn.get(figure), { theme: "light" });
      const size = { width: 900, height: layout.height };
      await Plotly.downloadImage({ data, layout: { ...layout, ...size } }, { format: "svg", filename: figure.dataset.name, ...size });
    });
    links.append(button);
  };

  const draw = async (figure) => {
    try {
      const response = await fetch(figure.dataset.chart, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      drawn.set(figure, await response.json());
      await show(figure);
      readable(figure);
      offerSvg(figure);
    } catch (error) {
      drawn.delete(figure);
      const told = document.createElement("p");
      told.className = "chart-failed";
      told.textContent = `The chart could not be drawn (${error.message}); its data are in the table.`;
      figure.replaceChildren(told);
    }
  };

  const redraw = () => drawn.forEach((_, figure) => show(figure));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "300px" });

  const figures = document.querySelectorAll("figure.chart[data-chart]");
  const several = figures.length > 1;
  for (const figure of figures) {
    figure.hidden = false;
    seen.observe(figure);
    // Thirteen open tables are too long a way for a thumb.
    const data = figure.closest("section").querySelector("details.data");
    if (NARROW.matches && data && several) data.open = false;
  }
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  NARROW.addEventListener("change", redraw);
})();
