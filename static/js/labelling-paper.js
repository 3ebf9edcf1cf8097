// The paper in pdf.js, loaded when its pane is first opened: page remembered in the draft, zoom, search.
const STEP = 1.15;

export function startPaper(root, panes, form) {
  if (!root) return;
  let started = false;
  const start = () => {
    if (started || panes.current() !== "pane-paper") return;
    started = true;
    show(root, form).catch(() => fail(root));
  };
  panes.shown.addEventListener("shown", start);
  start();
}

function fail(root) {
  const words = document.createElement("p");
  words.className = "callout warning";
  words.setAttribute("role", "alert");
  words.textContent = "The paper cannot be shown here. Open it with the link below.";
  root.replaceChildren(words);
}

async function show(root, form) {
  const library = await import(root.dataset.library);
  globalThis.pdfjsLib = library;
  const { EventBus, PDFFindController, PDFLinkService, PDFViewer } = await import(root.dataset.viewer);
  library.GlobalWorkerOptions.workerSrc = root.dataset.worker;
  const bus = new EventBus();
  const links = new PDFLinkService({ eventBus: bus, externalLinkTarget: 2, externalLinkRel: "noopener noreferrer nofollow" });
  const search = new PDFFindController({ eventBus: bus, linkService: links });
  const viewer = new PDFViewer({
    container: root.querySelector(".paper-view"), viewer: root.querySelector(".pdfViewer"), eventBus: bus,
    linkService: links, findController: search, annotationMode: library.AnnotationMode.DISABLE, imageResourcesPath: "",
  });
  links.setViewer(viewer);
  // Nothing is compiled at run time: the site's policy forbids it.
  const asked = library.getDocument({ url: root.dataset.file, isEvalSupported: false, useWasm: false, enableXfa: false });
  const pdf = await asked.promise;
  viewer.setDocument(pdf);
  links.setDocument(pdf, null);
  wire(root, bus, viewer, pdf, form);
}

function wire(root, bus, viewer, pdf, form) {
  const part = (name) => root.querySelector(`[data-paper="${name}"]`);
  const page = part("page");
  const wanted = Number(page.value) || 1;
  part("pages").textContent = `of ${pdf.numPages}`;
  page.max = pdf.numPages;
  bus.on("pagesinit", () => {
    viewer.currentScaleValue = "page-width";
    viewer.currentPageNumber = Math.min(wanted, pdf.numPages);
    bus.on("pagechanging", ({ pageNumber }) => { page.value = pageNumber; form.set("paper_page", pageNumber); });
  });
  // The document's structure refers to links, which are not drawn here.
  const tidy = () => root.querySelectorAll(".structTree [aria-owns]").forEach((span) => {
    if (!document.getElementById(span.getAttribute("aria-owns"))) span.removeAttribute("aria-owns");
  });
  new MutationObserver(tidy).observe(root.querySelector(".pdfViewer"), { childList: true, subtree: true });
  const go = (to) => { viewer.currentPageNumber = Math.min(Math.max(to, 1), pdf.numPages); };
  page.addEventListener("change", () => go(Number(page.value) || 1));
  part("previous").addEventListener("click", () => go(viewer.currentPageNumber - 1));
  part("next").addEventListener("click", () => go(viewer.currentPageNumber + 1));
  part("in").addEventListener("click", () => { viewer.currentScale *= STEP; });
  part("out").addEventListener("click", () => { viewer.currentScale /= STEP; });
  part("fit").addEventListener("click", () => { viewer.currentScaleValue = "page-width"; });
  wireSearch(bus, part);
}

function wireSearch(bus, part) {
  const find = (type, findPrevious = false) => bus.dispatch("find", {
    type, query: part("query").value, caseSensitive: false, entireWord: false, highlightAll: true, findPrevious,
  });
  part("query").addEventListener("input", () => find(""));
  part("query").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    find("again", event.shiftKey);
  });
  part("before").addEventListener("click", () => find("again", true));
  part("after").addEventListener("click", () => find("again"));
  const say = ({ matchesCount }) => {
    const { current, total } = matchesCount;
    part("matches").textContent = part("query").value ? (total ? `${current} of ${total}` : "not found") : "";
  };
  bus.on("updatefindmatchescount", say);
  bus.on("updatefindcontrolstate", say);
}
