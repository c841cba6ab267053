/** Names for a sentence. @param most most names; of further ones only the number is given */
export function listNames(names: readonly string[], most = 10): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
