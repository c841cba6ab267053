/**
 * Who may register here, as the server wrote it into the document of this page; null: not told, such as in a document
 * that came without it.
 */
export function registrationMode(): 'closed' | 'invite_only' | 'open' | null {
  const told = document.querySelector<HTMLMetaElement>('meta[name="registration"]')?.content;
  return told === 'closed' || told === 'invite_only' || told === 'open' ? told : null;
}
