/** Decides whether a title that was found in a home becomes a tile. Pure. Source: docs/apps.md, "What is published". */

/** Reason why a title is not published. */
export type Suppression = 'rule_ignore' | 'builtin_appid' | 'builtin_prefix' | 'appdetails';

/** Facts about one title. */
export interface TitleFacts {
  externalId: string;
  /** Name from the manifest; "": unknown. */
  name: string;
  /** The administrator's rule; null: there is no rule. */
  rule: 'ignore' | 'allow' | null;
  /** Type of the title in the store; null: the store was not asked, or did not answer. */
  storeType: string | null;
}

/** Runtimes and tools that Steam installs automatically. */
const TOOL_IDS: ReadonlySet<string> = new Set([
  '1493710',
  '2180100',
  '1628350',
  '4183110',
  '228980',
  '250820',
]);
const TOOL_NAMES = ['proton', 'steam linux runtime', 'steamworks common redistributables'] as const;

/** @returns the reason why the title is not published; null: it is published. The first matching rule decides. */
export function decideSuppression({ externalId, name, rule, storeType }: TitleFacts): Suppression | null {
  if (rule === 'allow') return null;
  if (rule === 'ignore') return 'rule_ignore';
  if (TOOL_IDS.has(externalId)) return 'builtin_appid';
  const plain = name.trim().toLowerCase();
  if (TOOL_NAMES.some((tool) => plain.startsWith(tool))) return 'builtin_prefix';
  if (storeType !== null && storeType !== 'game') return 'appdetails';
  return null;
}
