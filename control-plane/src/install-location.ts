import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The built web app. Source and built programs both lie one folder below the package, so the way there is the same for both. */
export const BUILT_WEB_APP = fileURLToPath(new URL('../../packages/web/dist', import.meta.url));

/** The page that shows the contract to people, with its style and script. */
export const REFERENCE_PAGE = fileURLToPath(new URL('../src/reference/page', import.meta.url));

const require = createRequire(import.meta.url);
/** The renderer that this page uses. */
export const SWAGGER_UI = path.dirname(require.resolve('@fastify/swagger-ui/static/swagger-ui-bundle.js'));

/** This program as a release builds it. */
export const BUILT_PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** What new hosts fetch: agent.sh and agent-linux-x64.tgz, made by the release build. */
export const AGENT_INSTALL_FILES = fileURLToPath(new URL('../../node-agent/dist/install', import.meta.url));
