/**
 * Fields of a body that differ from the stored fields. Only these are sent, because the server logs each sent field,
 * and would refuse some unchanged values (the cover of an app with artwork, a default that was hidden later).
 */
export function changesOf<Fields extends object>(stored: object, body: Fields): Partial<Fields> {
  const before = stored as Record<string, unknown>;
  const changed = Object.entries(body).filter(
    ([key, value]) => JSON.stringify(before[key]) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed) as Partial<Fields>;
}
