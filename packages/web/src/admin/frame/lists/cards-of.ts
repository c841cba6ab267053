/** Width of a table's column (a date, a name or a chip) with its margins. Measured on the pages, in pixels. */
const COLUMN_PX = 136;
/** Up to this width of the frame (a phone), every table is shown as cards. */
const PHONE_PX = 560;
/** From this width of a card on, two of its fields are in one row. */
const TWO_FIELDS_PX = 520;
/** From this width of the frame on (a laptop), every table keeps its columns, so that people can compare its rows. */
const LAPTOP_PX = 960;

/**
 * Whether the rows of a table are shown as cards, and how wide these are. Pure.
 * @param width of the table's frame, in pixels
 * @param columns number of the table's columns
 * @param content largest width of the table while it had columns, in pixels; 0: not known
 * @returns null: the columns fit
 */
export function cardsOf(width: number, columns: number, content: number): 'one' | 'two' | null {
  const needed = Math.min(LAPTOP_PX, Math.max(PHONE_PX, columns * COLUMN_PX, content));
  if (width >= needed) return null;
  return width < TWO_FIELDS_PX ? 'one' : 'two';
}
