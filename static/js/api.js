// Draw the API's OpenAPI document with Swagger UI. Without this script the document itself is linked on the page.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    const place = document.getElementById("operations");
    window.SwaggerUIBundle({
      url: place.dataset.document,
      domNode: place,
      presets: [window.SwaggerUIBundle.presets.apis],
      layout: "BaseLayout",
      deepLinking: true,
      // Nothing is sent to other sites: not the document for validation, and no token is kept in the browser.
      validatorUrl: null,
      persistAuthorization: false,
    });
  });
})();
