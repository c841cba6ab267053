import { localeTag } from './translate.ts';

/** A number with a fixed number of decimal places, with the decimal sign of the page's language. */
export const decimalLabel = (value: number, digits: number): string =>
  value.toLocaleString(localeTag(), {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
  });
