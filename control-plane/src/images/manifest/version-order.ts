/**
 * Order of the versions of images. Pure. Source: semver.org, 11; a leading v and any number of numeric parts are also
 * accepted.
 */

interface Version {
  numbers: readonly string[];
  /** null: the version is a release. */
  prerelease: readonly string[] | null;
}

const FORM = /^v?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]*)?$/;

function parseVersion(text: string): Version | null {
  const match = FORM.exec(text);
  if (match === null) return null;
  return { numbers: (match[1] ?? '').split('.'), prerelease: match[2]?.split('.') ?? null };
}

/**
 * Whether a version of the catalog is newer than the installed one. If one of the versions cannot be parsed, any
 * different version counts as newer.
 */
export function isNewer(offered: string, installed: string): boolean {
  const [a, b] = [parseVersion(offered), parseVersion(installed)];
  if (a === null || b === null) return offered !== installed;
  for (let at = 0; at < Math.max(a.numbers.length, b.numbers.length); at += 1) {
    const order = compareNumbers(a.numbers[at] ?? '0', b.numbers[at] ?? '0');
    if (order !== 0) return order > 0;
  }
  return comparePrereleases(a.prerelease, b.prerelease) > 0;
}

/** Compares numbers with any count of digits. */
function compareNumbers(a: string, b: string): number {
  const [x, y] = [BigInt(a), BigInt(b)];
  return x === y ? 0 : x > y ? 1 : -1;
}

function comparePrereleases(a: Version['prerelease'], b: Version['prerelease']): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [x, y] = [a[at], b[at]];
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1;
    const order = compareIdentifiers(x, y);
    if (order !== 0) return order;
  }
  return 0;
}

/** Compares prerelease identifiers; a number sorts below a word. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumberA && isNumberB) return compareNumbers(a, b);
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  return a === b ? 0 : a > b ? 1 : -1;
}
