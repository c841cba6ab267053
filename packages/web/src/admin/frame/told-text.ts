/**
 * A value from a host or a viewer as text; "": no value. A JSON object may overwrite its own conversion methods. Then
 * String() would throw and crash the page.
 */
export const toldText = (value: unknown): string =>
  typeof value === 'object' ? (value === null ? '' : JSON.stringify(value)) : String(value ?? '');
