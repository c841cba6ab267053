/**
 * Fields of a body that differ from the stored ones. Only these are sent: some unchanged values would be refused (the
 * cover of an app with artwork, a default that was hidden later), and each sent field is logged.
 */
export function changesOf<Fields extends object>(stored: object, body: Fields): Partial<Fields> {
  const before = stored as Record<string, unknown>;
  const changed = Object.entries(body).filter(
    ([key, value]) => JSON.stringify(before[key]) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed) as Partial<Fields>;
}
