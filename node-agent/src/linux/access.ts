import { accessSync } from 'node:fs';

/** Whether this process has the requested access to a file. @param mode R_OK, W_OK or X_OK of node:fs */
export function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
