import { useSyncExternalStore } from 'react';

/** The person's choice; `auto`: the scheme of the system. */
export type SchemeChoice = 'auto' | 'dark' | 'light';

const STORAGE_KEY = 'footlight.scheme';
const listeners = new Set<() => void>();
const prefersLight = () => window.matchMedia('(prefers-color-scheme: light)');

/** The stored choice of this browser; `auto` without a valid one. */
export function readSchemeChoice(): SchemeChoice {
  try {
    const stored = localStorage.getItem(STORAGE_KEY);
    return stored === 'dark' || stored === 'light' ? stored : 'auto';
  } catch {
    return 'auto'; // storage can be refused altogether; the page works without it
  }
}

/** The current scheme; for `auto` the system's preference. */
export function resolveScheme(): 'dark' | 'light' {
  const choice = readSchemeChoice();
  if (choice !== 'auto') return choice;
  return prefersLight().matches ? 'light' : 'dark';
}

/** Stores a choice and notifies the page. */
export function chooseScheme(choice: SchemeChoice): void {
  try {
    if (choice === 'auto') localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, choice);
  } catch {
    // Without storage the choice lasts until the page is reloaded.
  }
  for (const listener of listeners) listener();
}

/** The current scheme, updated with choice, system and other tabs. */
export function useScheme(): 'dark' | 'light' {
  return useSyncExternalStore(subscribe, resolveScheme);
}

/** The person's choice, updated on changes. */
export function useSchemeChoice(): SchemeChoice {
  return useSyncExternalStore(subscribe, readSchemeChoice);
}

function subscribe(listener: () => void): () => void {
  const query = prefersLight();
  listeners.add(listener);
  query.addEventListener('change', listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    query.removeEventListener('change', listener);
    window.removeEventListener('storage', listener);
  };
}
