// A button beside a field that copies what is in it. Without this script the field is selected and copied by hand.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("button[data-copies]")) {
      const field = document.getElementById(button.dataset.copies);
      const said = document.getElementById(`${button.dataset.copies}-copied`);
      button.hidden = false;
      button.addEventListener("click", async () => {
        field.select();
        let copied;
        try {
          await navigator.clipboard.writeText(field.value);
          copied = true;
        } catch {
          // Only secure pages have a clipboard; the old way works on an instance without HTTPS.
          copied = document.execCommand("copy");
        }
        said.textContent = copied ? "Copied." : "Selected: copy it with Ctrl+C.";
      });
    }
  });
})();
