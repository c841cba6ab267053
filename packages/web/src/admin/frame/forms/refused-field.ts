import { ApiFailure } from '../../../api/client.ts';

/** A refusal about one field of a form. */
export interface RefusedField {
  field: string;
  /** The server's sentence, without the name of the field. */
  label: string;
}

/** Statuses of refusals that name a body field: the field's value is wrong, or is already in use. */
const STATUSES: readonly number[] = [400, 409];

/**
 * The field that the server refused.
 * @param fields of the form
 * @param aliases field by the server's name, if the form uses another name
 * @returns null: the refusal is about no field of the form
 */
export function refusedField(
  error: unknown,
  fields: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): RefusedField | null {
  if (!(error instanceof ApiFailure) || !STATUSES.includes(error.status)) return null;
  // Examples: "runtime_spec.image: not a valid image name", "abr_floor_kbps must be smaller than …"
  const [, place = '', rest = ''] = /^([a-z][a-z0-9_.]*)(.*)$/s.exec(error.message) ?? [];
  const field = [place, ...place.split('.').reverse()]
    .map((name) => aliases[name] ?? name)
    .find((name) => fields.includes(name));
  if (field === undefined || !/^[:, ]/.test(rest)) return null;
  if (!rest.startsWith(':')) return { field, label: error.message };
  const label = rest.slice(1).trim();
  return { field, label: label.charAt(0).toUpperCase() + label.slice(1) };
}
