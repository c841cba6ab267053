import { expect, test } from 'vitest';
import { cardsOf } from './cards-of.ts';

test.each([
  [358, 2, 0, 'one', 'every table on a phone'],
  [770, 8, 0, 'two', 'a wide table on a tablet'],
  [770, 4, 700, null, 'a narrow table on a tablet'],
  [770, 5, 994, 'two', 'few columns with much in them on a tablet'],
  [1062, 10, 1_080, null, 'the widest table on a laptop'],
] as const)('%i px, %i columns and %i px of content: %s, %s', (width, columns, content, cards, _what) => {
  expect(cardsOf(width, columns, content)).toBe(cards);
});
