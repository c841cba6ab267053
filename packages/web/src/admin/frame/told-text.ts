/**
 * A value that a host or a viewer told, as text; nothing is "". An object that hides its methods, as JSON can, has no
 * text: String() would throw, and take the page away.
 */
export const toldText = (value: unknown): string =>
  typeof value === 'object' ? (value === null ? '' : JSON.stringify(value)) : String(value ?? '');
