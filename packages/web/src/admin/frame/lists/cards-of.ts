/** What a column of a table takes: a date, a name or a chip, with its margins. Measured on the pages, in pixels. */
const COLUMN_PX = 136;
/** A frame up to this width has cards for every table: a phone. */
const PHONE_PX = 560;
/** From this width on, two fields of a card stand next to each other. */
const TWO_FIELDS_PX = 520;
/** A laptop's frame, which has tables whatever they list: its rows stay comparable. */
const LAPTOP_PX = 960;

/**
 * Whether the rows of a table are cards, and how wide these are. Pure.
 * @param width of the table's frame, in pixels
 * @param columns of the table
 * @param content width that the table took at most while it had columns, in pixels; 0: not known
 * @returns null: there is room for columns
 */
export function cardsOf(width: number, columns: number, content: number): 'one' | 'two' | null {
  const needed = Math.min(LAPTOP_PX, Math.max(PHONE_PX, columns * COLUMN_PX, content));
  if (width >= needed) return null;
  return width < TWO_FIELDS_PX ? 'one' : 'two';
}
