/** Most that a whole number of the API can be. */
export const MAX_INT32 = 2_147_483_647;

/** What is wrong with a whole number as a field holds it, "" while it is empty; null: nothing. */
export function rangeProblem(value: number | string, least: number, most = MAX_INT32): string | null {
  const number = Number(value);
  if (value !== '' && Number.isInteger(number) && number >= least && number <= most) return null;
  return most === MAX_INT32 ? `A whole number from ${least} up` : `A whole number from ${least} to ${most}`;
}

/** As `rangeProblem`, for the width or height of a picture. */
export function pixelsProblem(value: number | string): string | null {
  return rangeProblem(value, 16, 7680) ?? (Number(value) % 2 === 0 ? null : 'An even number');
}
