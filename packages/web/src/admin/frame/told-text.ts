/**
 * A value from a host or a viewer as text; a missing one is "". A JSON object may overwrite its own methods and then
 * cannot be converted: String() would throw and crash the page.
 */
export const toldText = (value: unknown): string =>
  typeof value === 'object' ? (value === null ? '' : JSON.stringify(value)) : String(value ?? '');
