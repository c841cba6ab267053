import { useSyncExternalStore } from 'react';
import { putInForce, type Table } from './translate.ts';

/** Languages of the web app, each by its own name. English is the source and has no table. */
export const LANGUAGES = [
  { code: 'en', tag: 'en-GB', name: 'English' },
  { code: 'de', tag: 'de-DE', name: 'Deutsch' },
] as const;

export type Language = (typeof LANGUAGES)[number]['code'];

/** The person's choice; `auto`: the language of the browser. */
export type LanguageChoice = Language | 'auto';

/** Loads the translation tables of one area of the web app. Each table is a separate file. */
export type Loaders = Readonly<Record<Exclude<Language, 'en'>, () => Promise<{ default: Table }>>>;

const STORAGE_KEY = 'footlight.language';
const listeners = new Set<() => void>();
const areas: Loaders[] = [];
let current: Language = 'en';
let latest = 0;

/** Adds the translations of an area, before the first page is shown. */
export function addLanguages(loaders: Loaders): void {
  areas.push(loaders);
}

/**
 * The first of the wanted languages that the app supports; otherwise English.
 * @param wanted BCP 47 tags, the preferred one first, as in navigator.languages
 */
export function languageFor(choice: LanguageChoice, wanted: readonly string[]): Language {
  if (choice !== 'auto') return choice;
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split('-')[0];
    const known = LANGUAGES.find(({ code }) => code === primary);
    if (known !== undefined) return known.code;
  }
  return 'en';
}

/** The stored choice of this browser; `auto`: no valid choice is stored. */
export function readLanguageChoice(): LanguageChoice {
  try {
    const stored = localStorage.getItem(STORAGE_KEY);
    return LANGUAGES.find(({ code }) => code === stored)?.code ?? 'auto';
  } catch {
    return 'auto'; // storage can be refused altogether; the page works without it
  }
}

/** Longest wait until the new page has its list of languages, in frames: two seconds at 60 Hz. */
const FRAMES_OF_A_PAGE = 120;

/**
 * Stores a choice and shows the page in this language. All controls are rendered again, so the focus is lost. The
 * control with the same `data-language` as the previously focused control gets the focus. If that control was a link in
 * the person's menu, which closes, the menu's button gets the focus.
 */
export async function chooseLanguage(choice: LanguageChoice): Promise<void> {
  try {
    if (choice === 'auto') localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, choice);
  } catch {
    // Without storage the choice lasts until the page is reloaded.
  }
  const control = document.activeElement?.getAttribute('data-language') ?? null;
  await showLanguage(languageFor(choice, navigator.languages));
  if (control === null) return;
  for (let frame = 0; frame < FRAMES_OF_A_PAGE; frame += 1) {
    await new Promise(requestAnimationFrame);
    const same = document.querySelector<HTMLElement>(`[data-language="${control}"]`);
    const place =
      same ?? (control === 'list' ? null : document.querySelector<HTMLElement>('[data-person-menu]'));
    place?.focus();
    // The person may have moved the focus in the meantime.
    if (document.activeElement !== document.body) return;
  }
}

/** Loads the chosen language and shows the page in it. Called at the start of a document, before its first page. */
export function showChosenLanguage(): Promise<void> {
  return showLanguage(languageFor(readLanguageChoice(), navigator.languages));
}

/** The current language. A change must render everything again, so the language is the key of the app. */
export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, () => current);
}

/** Loads the translations and shows the page. If they cannot be loaded, the page is shown in English. */
async function showLanguage(wanted: Language): Promise<void> {
  const mine = ++latest;
  let tables: Table[] = [];
  let shown: Language = 'en';
  // Pages without translations stay in English altogether: German dates in an English text would only confuse.
  if (wanted !== 'en' && areas.length > 0) {
    try {
      tables = (await Promise.all(areas.map((area) => area[wanted]()))).map((module) => module.default);
      shown = wanted;
    } catch {
      // The page stays in English.
    }
  }
  if (mine !== latest) return;
  current = shown;
  putInForce(Object.assign({}, ...tables), LANGUAGES.find(({ code }) => code === shown)?.tag ?? 'en-GB');
  document.documentElement.lang = shown;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
