/** Names for a sentence. @param most of more names, the first that many, and how many more there are */
export function nameSome(names: readonly string[], most = 10): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
