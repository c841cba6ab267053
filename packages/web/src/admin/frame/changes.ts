/**
 * The fields of a body that differ from what is stored. Only these are sent: some are refused even with the value they
 * have (the cover of an app with artwork, a default that was hidden since), and each leaves a line in the activity.
 */
export function changesOf<Fields extends object>(stored: object, body: Fields): Partial<Fields> {
  const before = stored as Record<string, unknown>;
  const changed = Object.entries(body).filter(
    ([key, value]) => JSON.stringify(before[key]) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed) as Partial<Fields>;
}
