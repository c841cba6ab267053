/** The effect of one word of the command line on a fake peer. */
export interface NamedBehaviour {
  /** What the fake does, for the usage text. */
  does: string;
  /** Milliseconds that `word=500` replaces; undefined: the word has no number. */
  ms?: number;
  /** Words that must not be combined with this word, and the reason. */
  excludes?: { words: readonly string[]; because: string };
}

/**
 * The given words select entries of a table. The entries are in the order of the table, so the order of the words has
 * no effect. A word may replace the milliseconds of its entry: `slow=500`.
 * @throws Error for an unknown word, with the list of known words; and for two words that must not be combined, with
 *   the reason
 */
export function chosen<T extends NamedBehaviour>(
  table: Readonly<Record<string, T>>,
  given: readonly string[],
): T[] {
  const numbers = new Map<string, string | undefined>(
    given.map((text) => {
      const [word = '', number] = text.split('=', 2);
      return [word, number];
    }),
  );
  const words = [...numbers.keys()];
  for (const [word, number] of numbers) {
    if (!Object.hasOwn(table, word))
      throw new Error(`There is no behaviour '${word}'; there are ${Object.keys(table).join(', ')}.`);
    const { excludes, ms } = table[word] as T;
    if (number !== undefined && (ms === undefined || !/^[1-9]\d{0,6}$/.test(number)))
      throw new Error(
        ms === undefined
          ? `'${word}' takes no number.`
          : `'${word}' takes milliseconds, for example ${word}=${ms}.`,
      );
    const clash = words.find((other) => other !== word && excludes?.words.includes(other));
    if (clash !== undefined)
      throw new Error(`'${word}' and '${clash}' do not go together: ${excludes?.because}.`);
  }
  return Object.entries(table).flatMap(([word, entry]) => {
    if (!numbers.has(word)) return [];
    const number = numbers.get(word);
    return [number === undefined ? entry : { ...entry, ms: Number(number) }];
  });
}

/** Lines of the usage text, one for each behaviour. */
export function described(table: Readonly<Record<string, NamedBehaviour>>): string {
  const width = Math.max(...Object.keys(table).map((word) => word.length));
  return Object.entries(table)
    .map(
      ([word, { does, ms }]) =>
        `  ${word.padEnd(width)}  ${does}${ms === undefined ? '' : ` (${word}=${ms}, in ms)`}`,
    )
    .join('\n');
}
