// Shows the contract of the service that serves this page. The page sends no request to other servers.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

window.SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#reference',
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  // The URL names the open operation, so that people can share it.
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  filter: true,
  // null: Swagger UI must not send the document to its validator on the Internet.
  validatorUrl: null,
});
