import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The built web app. Source files and built programs are at the same depth below the package, so the same relative path
 * works for both.
 */
export const BUILT_WEB_APP = fileURLToPath(new URL('../../packages/web/dist', import.meta.url));

/** Version of this release, as in the package. */
export const RELEASE = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

/** Page that shows the API contract, with its style and script. */
export const REFERENCE_PAGE = fileURLToPath(new URL('../src/reference/page', import.meta.url));

const require = createRequire(import.meta.url);
/** Files of Swagger UI, which renders the page. */
export const SWAGGER_UI = path.dirname(require.resolve('@fastify/swagger-ui/static/swagger-ui-bundle.js'));

/** Main file of the release build of the control plane. */
export const BUILT_PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Files that new hosts download: agent.sh and agent-linux-x64.tgz, made by the release build. */
export const AGENT_INSTALL_FILES = fileURLToPath(new URL('../../node-agent/dist/install', import.meta.url));
