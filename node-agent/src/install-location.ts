import { fileURLToPath } from 'node:url';

/**
 * Path of the folder above this package. The source and the built programs are both one folder below the package, so
 * this relative path works for both.
 */
export const PRODUCT_ROOT = fileURLToPath(new URL('../..', import.meta.url));
