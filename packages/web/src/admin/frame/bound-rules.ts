import type { Bounds } from '@footlight/protocol/rest';
import { localeTag, msg, t } from '../../i18n/translate.ts';

/** Bounds of int32, which are not shown to people. */
const INT32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };

/** Describes the error of a form field; null: no error. */
type Rule<Value> = (value: Value) => string | null;

/** The rule of a number field, whose value is "" while it is empty. */
export function numberRule(bounds: Bounds): Rule<number | string> {
  const { type, minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, multipleOf } = bounds;
  return (value) => {
    const number = Number(value);
    const fits =
      value !== '' &&
      (type === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number)) &&
      number >= minimum &&
      number <= maximum &&
      number > exclusiveMinimum;
    if (!fits) return rangeLabel(bounds);
    return multipleOf === undefined || number % multipleOf === 0 ? null : multipleLabel(multipleOf);
  };
}

/** "A whole number from 1 to 240", "A number above 0". */
function rangeLabel({ type, minimum, maximum, exclusiveMinimum }: Bounds): string {
  const isWhole = type === 'integer';
  if (exclusiveMinimum !== undefined) {
    const min = exclusiveMinimum;
    return isWhole ? t('A whole number above {min}', { min }) : t('A number above {min}', { min });
  }
  const min = minimum === INT32.minimum ? undefined : minimum;
  const max = maximum === INT32.maximum ? undefined : maximum;
  if (min === undefined) {
    if (max === undefined) return isWhole ? t('A whole number') : t('A number');
    return isWhole ? t('A whole number up to {max}', { max }) : t('A number up to {max}', { max });
  }
  if (max === undefined)
    return isWhole ? t('A whole number from {min} up', { min }) : t('A number from {min} up', { min });
  const range = { min, max };
  return isWhole ? t('A whole number from {min} to {max}', range) : t('A number from {min} to {max}', range);
}

const multipleLabel = (divisor: number): string =>
  divisor === 2 ? t('An even number') : t('A multiple of {divisor}', { divisor });

/**
 * The rule of a text field. The request contains the text without surrounding spaces. The error texts are marked with
 * `msg`, because rules are made while their module loads.
 * @param words.blank error text for an empty field; missing: the field may be empty
 * @param words.pattern error text for a text that does not match the pattern
 */
export function textRule(
  { maxLength = Infinity, pattern }: Bounds,
  label: { blank?: string; pattern?: string },
): Rule<string> {
  const form = pattern === undefined ? null : new RegExp(pattern, 'u');
  return (value) => {
    const text = value.trim();
    if (text === '') return label.blank === undefined ? null : t(label.blank);
    if ([...text].length > maxLength)
      return t('At most {max} characters', { max: maxLength.toLocaleString(localeTag()) });
    return form === null || form.test(text) ? null : t(label.pattern ?? msg('Another form'));
  };
}
