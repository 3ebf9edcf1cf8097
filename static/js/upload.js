// The upload form: marks the drop zone while a file is over it, and selects "Predictions" for .jsonl and .json files.
// The file field itself receives dropped files, so the form works without this script.
(() => {
  "use strict";
  const file = document.getElementById("id_file");
  const zone = file.closest(".drop-zone");

  file.addEventListener("change", () => {
    const name = file.files[0]?.name.toLowerCase() ?? "";
    const predictions = document.querySelector("input[name=content][value=predictions]");
    if (/\.jsonl?$/.test(name)) predictions.checked = true;
    else if (name && predictions.checked) document.querySelector("input[name=content][value=bundle]").checked = true;
  });

  for (const type of ["dragenter", "dragover"]) file.addEventListener(type, () => zone.classList.add("over"));
  for (const type of ["dragleave", "drop"]) file.addEventListener(type, () => zone.classList.remove("over"));
})();
