import { fileURLToPath } from 'node:url';

/** The folder above this package. Source and built programs both lie one folder below the package, so it is the same for both. */
export const PRODUCT_ROOT = fileURLToPath(new URL('../..', import.meta.url));
