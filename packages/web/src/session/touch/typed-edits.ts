/** What a person changed in a field, as keys and text for an app that has no such field. Pure. */

export interface Edits {
  /** characters (code points) to take back */
  backspaces: number;
  /** then typed */
  text: string;
}

/**
 * The edits at the end of a text. A phone's keyboard also changes words that stand there already, such as a correction.
 */
export function editsOf(before: string, after: string): Edits {
  const [old, now] = [Array.from(before), Array.from(after)];
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same++;
  return { backspaces: old.length - same, text: now.slice(same).join('') };
}
