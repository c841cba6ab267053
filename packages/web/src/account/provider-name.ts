/** Name of the identity provider, as the server wrote it into this page's document; null: there is none. */
export function providerName(): string | null {
  const told = document.querySelector<HTMLMetaElement>('meta[name="single-sign-on"]')?.content;
  return told || null;
}
