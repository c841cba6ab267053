const MAX_ID_LENGTH = 128;

/** What is wrong with an id that an administrator chooses; null: nothing. */
export function idProblem(value: string): string | null {
  const id = value.trim();
  if (id === '') return 'Choose an id';
  if ([...id].length > MAX_ID_LENGTH) return `At most ${MAX_ID_LENGTH} characters`;
  // They mean a folder in every address, so that no request could ever name the record.
  return id === '.' || id === '..' ? 'Another id: this one cannot be part of an address' : null;
}
