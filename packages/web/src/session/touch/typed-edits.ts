/** Translates changes of a text field into keys and text, for an app that does not have this field. Pure. */

export interface Edits {
  /** number of characters (code points) to delete */
  backspaces: number;
  /** text to type after the deletion */
  text: string;
}

/**
 * The edits at the end of a text. A phone's keyboard also changes words that were typed before, for example by a
 * correction.
 */
export function editsOf(before: string, after: string): Edits {
  const [old, now] = [Array.from(before), Array.from(after)];
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same++;
  return { backspaces: old.length - same, text: now.slice(same).join('') };
}
