import { decimalLabel } from '../i18n/number-labels.ts';
import { plural } from '../i18n/translate.ts';

const UNITS = ['', 'kB', 'MB', 'GB', 'TB'] as const;

/** A readable size in powers of 1000. @param bytes never negative */
export function bytesLabel(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 999.5 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  if (unit === 0) return plural(Math.round(size), '{n} byte', '{n} bytes');
  return `${decimalLabel(size, size >= 99.5 ? 0 : 1)} ${UNITS[unit]}`;
}
