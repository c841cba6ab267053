import { call } from '../../api/client.ts';
import { t } from '../../i18n/translate.ts';
import type { Pick } from '../frame/lists/pick-dialog.tsx';

/** Number of results that fit on a laptop's screen; a longer search text reduces the results. */
const MATCHES = 20;

/** Apps whose name contains the text, also disabled ones, for a picker. */
export async function pickApps(text: string, signal: AbortSignal): Promise<Pick[]> {
  const { items } = await call('admin.apps.list', { query: { q: text, limit: MATCHES }, signal });
  return items.map(({ id, name, enabled }) => ({ id, name, hint: enabled ? '' : t('Switched off') }));
}

/** The name of the app with the id, for a filter. @throws ApiFailure not_found */
export const nameOfApp = async (id: string, signal: AbortSignal): Promise<string> =>
  (await call('apps.read', { params: { id }, signal })).app.name;
