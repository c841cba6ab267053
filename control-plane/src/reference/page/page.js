// Shows the contract of the service that this page came from; nothing is asked of any other.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

window.SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#reference',
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  // A link to an operation can be passed on.
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  filter: true,
  // The renderer would otherwise send the document to a service on the Internet.
  validatorUrl: null,
});
