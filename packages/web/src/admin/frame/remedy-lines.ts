/** Whether a line of remedies is a sentence, and no command. */
export const isSentence = (line: string): boolean => /[.:]$/.test(line);
