import { ApiFailure } from '../../api/client.ts';

/**
 * The fault of the list of origins in the words of its field; null: the error is about something else.
 * @param lines of the field as they were sent; the service counts entries from 1
 */
export function originProblem(error: unknown, lines: readonly string[]): string | null {
  if (!(error instanceof ApiFailure) || error.status !== 400) return null;
  const at = /^allowed_origins: entry (\d+)/.exec(error.message);
  if (at === null) return error.message.startsWith('allowed_origins') ? 'At most 64 addresses' : null;
  if (error.message.includes('too many')) return 'At most 64 addresses';
  const line = lines[Number(at[1]) - 1]?.trim() ?? '';
  return `Line ${at[1]}, “${line}”, is no address such as https://play.example: http or https, a name, no path`;
}
