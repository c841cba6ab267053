import { safeNext } from '../api/next-path.ts';

const TARGET = 'footlight.sign-on-target';

/** Remembers the page to open after the identity provider has sent this tab back. */
export function rememberTarget(path: string): void {
  sessionStorage.setItem(TARGET, path);
}

/** The remembered page; the library if there is none. The address of the provider's answer cannot change it. */
export function rememberedTarget(): string {
  return safeNext(sessionStorage.getItem(TARGET));
}
