import { fileURLToPath } from 'node:url';

/** The built web app. Source and built programs both lie one folder below the package, so the way there is the same for both. */
export const BUILT_WEB_APP = fileURLToPath(new URL('../../packages/web/dist', import.meta.url));
