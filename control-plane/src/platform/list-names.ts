/** Joins names for a sentence. @param most maximum number of listed names; further names are only counted */
export function listNames(names: readonly string[], most = 10): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
