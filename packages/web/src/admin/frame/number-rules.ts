/** Largest whole number of the API. */
export const MAX_INT32 = 2_147_483_647;

/** Fault of a whole number in a field, "" while empty; null: none. */
export function rangeProblem(value: number | string, least: number, most = MAX_INT32): string | null {
  const number = Number(value);
  if (value !== '' && Number.isInteger(number) && number >= least && number <= most) return null;
  return most === MAX_INT32 ? `A whole number from ${least} up` : `A whole number from ${least} to ${most}`;
}

/** As `rangeProblem`, for the width or height of a picture. */
export function pixelsProblem(value: number | string): string | null {
  return rangeProblem(value, 16, 7680) ?? (Number(value) % 2 === 0 ? null : 'An even number');
}
