import { call } from '../../api/client.ts';
import { t } from '../../i18n/translate.ts';
import type { Pick } from '../frame/lists/pick-dialog.tsx';
import { pickUsers, readAccount } from '../people/user-lookup.ts';

/**
 * Results of each kind. The results of all kinds together fit on a laptop's screen, and a longer search text reduces
 * them.
 */
const MATCHES = 8;
/** Largest page size of the hosts, whose list has no search. */
const MAX_HOSTS = 1000;

/** Apps, hosts and accounts whose name contains the text, for a picker. */
export async function pickThings(text: string, signal: AbortSignal): Promise<Pick[]> {
  const [apps, hosts, users] = await Promise.all([
    call('admin.apps.list', { query: { q: text, limit: MATCHES }, signal }),
    call('hosts.list', { query: { limit: MAX_HOSTS }, signal }),
    pickUsers(text, signal),
  ]);
  const wanted = text.toLowerCase();
  return [
    ...apps.items.map(({ id, name }) => ({ id, name, hint: t('App') })),
    ...hosts.items
      .filter(({ node_name }) => node_name.includes(wanted))
      .slice(0, MATCHES)
      .map(({ id, node_name }) => ({ id, name: node_name, hint: t('Host') })),
    ...users.slice(0, MATCHES).map((user) => ({ ...user, hint: t('Account, {hint}', { hint: user.hint }) })),
  ];
}

/** The name of the app, host or account with the id. Rejects if there is none. */
export const nameOfThing = (id: string, signal: AbortSignal): Promise<string> =>
  Promise.any([
    call('apps.read', { params: { id }, signal }).then(({ app }) => app.name),
    call('hosts.read', { params: { id }, signal }).then(({ node_name }) => node_name),
    readAccount(id, signal).then(({ username }) => username),
  ]);
