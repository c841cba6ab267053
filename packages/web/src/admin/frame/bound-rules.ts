import type { Bounds } from '@footlight/protocol/rest';

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
      (type === 'integer' ? Number.isInteger(number) : Number.isFinite(number)) &&
      number >= minimum &&
      number <= maximum &&
      number > exclusiveMinimum;
    if (!fits) return rangeLabel(bounds);
    return multipleOf === undefined || number % multipleOf === 0 ? null : multipleLabel(multipleOf);
  };
}

/** "A whole number from 1 to 240", "A number above 0". */
function rangeLabel({ type, minimum, maximum, exclusiveMinimum }: Bounds): string {
  const what = type === 'integer' ? 'A whole number' : 'A number';
  if (exclusiveMinimum !== undefined) return `${what} above ${exclusiveMinimum}`;
  if (minimum === undefined || minimum === INT32.minimum) return what;
  return maximum === undefined || maximum === INT32.maximum
    ? `${what} from ${minimum} up`
    : `${what} from ${minimum} to ${maximum}`;
}

const multipleLabel = (divisor: number): string =>
  divisor === 2 ? 'An even number' : `A multiple of ${divisor}`;

/**
 * The rule of a text field. The request contains the text without surrounding spaces.
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
    if (text === '') return label.blank ?? null;
    if ([...text].length > maxLength) return `At most ${maxLength.toLocaleString('en')} characters`;
    return form === null || form.test(text) ? null : (label.pattern ?? 'Another form');
  };
}
