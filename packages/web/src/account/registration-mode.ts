/** Who may register here, as the server wrote it into this page's document; null: the document does not contain it. */
export function registrationMode(): 'closed' | 'invite_only' | 'open' | null {
  const told = document.querySelector<HTMLMetaElement>('meta[name="registration"]')?.content;
  return told === 'closed' || told === 'invite_only' || told === 'open' ? told : null;
}
