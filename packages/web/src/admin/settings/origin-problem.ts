import { MAX_ORIGINS, parseOriginList } from '@footlight/protocol/origins';

/** The reason why the service would refuse these lines as its list of origins, for the field; null: it accepts them. */
export function originProblem(lines: readonly string[]): string | null {
  const list = parseOriginList(lines);
  if (list.kind === 'ok') return null;
  if (list.why === 'too_many') return `At most ${MAX_ORIGINS} addresses`;
  const line = lines[list.position - 1]?.trim() ?? '';
  return `Line ${list.position}, “${line}”, is not an address such as https://play.example (http or https, a name, no path)`;
}
