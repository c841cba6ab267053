import type { KeyboardLayout } from '@footlight/protocol/input';
import { asOnApple, DETECTED_KEYS, LAYOUTS, type OfferedLayout } from './layouts.ts';

/** What a browser reports about the keyboard. */
export interface KeyboardFacts {
  /** KeyboardEvent.code → character without Shift; null: the browser does not report characters. */
  printed: ReadonlyMap<string, string> | null;
  /** Language tags of the person, the preferred one first. */
  languages: readonly string[];
  isApple: boolean;
}

/**
 * Share of compared keys that must match. A layout that is not in the list matches fewer keys. Chosen, not measured.
 */
const ENOUGH = 0.8;

/**
 * Detects the layout of a keyboard by the characters on its keys. If several layouts match, or the browser reports no
 * characters, the browser's languages decide. Pure.
 */
export function detectLayout({ printed, languages, isApple }: KeyboardFacts): KeyboardLayout {
  const byKeys = printed === null ? [] : mostAlike(printed);
  const candidates = byKeys.length > 0 ? byKeys : LAYOUTS;
  const found = byLanguage(candidates, languages) ?? (byKeys[0] as OfferedLayout | undefined) ?? LAYOUTS[0];
  const { layout, variant } = found ?? { layout: 'us', variant: null };
  return isApple ? asOnApple({ layout, variant }) : { layout, variant };
}

function mostAlike(printed: ReadonlyMap<string, string>): OfferedLayout[] {
  const shares = LAYOUTS.map((layout) => {
    const compared = DETECTED_KEYS.flatMap((code, index) => {
      const [expected, actual] = [[...layout.printed][index], printed.get(code)];
      return expected === '?' || actual === undefined ? [] : [expected === actual];
    });
    return compared.length === 0 ? 0 : compared.filter(Boolean).length / compared.length;
  });
  const best = Math.max(...shares);
  return best < ENOUGH ? [] : LAYOUTS.filter((_, index) => shares[index] === best);
}

/** Finds a layout by language. A language with its region is preferred to the language alone. */
function byLanguage(
  candidates: readonly OfferedLayout[],
  languages: readonly string[],
): OfferedLayout | undefined {
  for (const language of languages) {
    const [base = ''] = language.split('-');
    for (const wanted of [language, base]) {
      const found = candidates.find((each) => each.languages.includes(wanted));
      if (found) return found;
    }
  }
  return undefined;
}

interface KeyboardMap {
  getLayoutMap?(): Promise<ReadonlyMap<string, string>>;
}

/** Reads the facts that this browser reports about the keyboard; never rejects. */
export async function readKeyboard(): Promise<KeyboardFacts> {
  const { keyboard } = navigator as { keyboard?: KeyboardMap };
  const printed = (await keyboard?.getLayoutMap?.().catch(() => null)) ?? null;
  return {
    printed: printed === null || printed.size === 0 ? null : printed,
    languages: navigator.languages,
    isApple: /Mac|iPhone|iPad/.test(navigator.platform),
  };
}
