const MAX_ID_LENGTH = 128;

/** Fault of an id chosen by an administrator; null: none. */
export function idProblem(value: string): string | null {
  const id = value.trim();
  if (id === '') return 'Choose an id';
  if ([...id].length > MAX_ID_LENGTH) return `At most ${MAX_ID_LENGTH} characters`;
  // URLs treat these as folders, so no request could name the record.
  return id === '.' || id === '..' ? 'Another id: this one cannot be part of an address' : null;
}
