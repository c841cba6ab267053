import type { ActivityEntry } from '@footlight/protocol/rest';
import type { LinkProps } from '@tanstack/react-router';
import { t } from '../../i18n/translate.ts';

/** Current names by id. */
export interface Names {
  apps: ReadonlyMap<string, string>;
  hosts: ReadonlyMap<string, string>;
  users: ReadonlyMap<string, string>;
  jobs: ReadonlyMap<string, string>;
  images: ReadonlyMap<string, string>;
}

/** The object of an entry: its label, and the page that shows it; null: the object has no page, or is deleted. */
export interface Thing {
  label: string;
  link: { to: NonNullable<LinkProps['to']>; id?: string } | null;
}

type Told = Pick<ActivityEntry, 'action' | 'target_type' | 'target_id' | 'details'>;

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Names the object of an entry and links it to its page. Pure. An object of an unknown kind is shown by its id. */
export function thingOf(entry: Told, names: Names): Thing {
  const { action, details, target_id: id } = entry;
  const name = text(details.name) ?? text(details.username) ?? text(details.node_name);
  const gone = /\.deleted?$/.test(action);
  const page = (to: NonNullable<LinkProps['to']>): Thing['link'] => (gone || id === null ? null : { to, id });
  switch (entry.target_type) {
    case 'app':
      return { label: name ?? names.apps.get(id ?? '') ?? t('a deleted app'), link: existing(names.apps) };
    case 'user':
      return {
        label: name ?? names.users.get(id ?? '') ?? t('a deleted account'),
        link: existing(names.users),
      };
    case 'host':
      return { label: name ?? names.hosts.get(id ?? '') ?? t('a deleted host'), link: existing(names.hosts) };
    case 'session': {
      const app = names.apps.get(text(details.app_id) ?? '') ?? t('A session');
      const host = names.hosts.get(text(details.host_id) ?? '');
      return {
        label: host === undefined ? app : t('{app} on {host}', { app, host }),
        link: page('/admin/sessions/$id'),
      };
    }
    case 'runtime_preset':
      return { label: name ?? t('a preset'), link: page('/admin/presets/$id') };
    case 'launch_profile':
      return { label: name ?? id ?? '', link: page('/admin/profiles/$id') };
    case 'job':
      return { label: names.jobs.get(id ?? '') ?? id ?? '', link: page('/admin/jobs/$id') };
    case 'backup':
      return { label: id ?? '', link: { to: '/admin/backups' } };
    case 'image':
      return id === null
        ? { label: t('the catalog'), link: { to: '/admin/images' } }
        : { label: names.images.get(id) ?? id, link: page('/admin/images/$id') };
    case 'storage_home': {
      const app = text(details.app_name) ?? t('a deleted app');
      const user = text(details.username) ?? t('a deleted account');
      return { label: t('{user}’s files of {app}', { user, app }), link: { to: '/admin/homes' } };
    }
    case 'stream_profile':
      return { label: name ?? id ?? '', link: { to: '/admin/profiles' } };
    case 'library':
      return { label: t('Discovery'), link: { to: '/admin/discovery' } };
    case 'secret':
      return { label: id ?? t('a secret'), link: { to: '/admin/settings' } };
    case 'invite':
      return { label: t('an invite'), link: { to: '/admin/invites' } };
    case 'enrollment_token':
      return { label: text(details.node_name) ?? t('a token'), link: { to: '/admin/hosts' } };
    case 'instance':
      return action.startsWith('profile_policy')
        ? { label: t('the policy'), link: { to: '/admin/profiles' } }
        : { label: t('the settings'), link: { to: '/admin/settings' } };
    default:
      return { label: name ?? id ?? '', link: null };
  }

  function existing(known: ReadonlyMap<string, string>): Thing['link'] {
    const pages = { app: '/admin/apps/$id', user: '/admin/users/$id', host: '/admin/hosts/$id' } as const;
    return id !== null && known.has(id) ? page(pages[entry.target_type as keyof typeof pages]) : null;
  }
}

/** Details that the label of an object already contains. */
const TOLD = new Set(['name', 'username', 'node_name', 'app_name']);

/** The details of an entry that its label does not contain. */
export const restOf = (details: ActivityEntry['details']): ActivityEntry['details'] =>
  Object.fromEntries(Object.entries(details).filter(([key]) => !TOLD.has(key)));
