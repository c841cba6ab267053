import type { AppListItem } from '@footlight/protocol/rest';
import { TextInput } from '@mantine/core';
import { IconSearch, IconStarFilled } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { msg, t } from '../i18n/translate.ts';
import styles from './library.module.css';
import type { Place } from './place.ts';

const KINDS = [
  { kind: 'game', label: msg('Games') },
  { kind: 'desktop', label: msg('Desktops') },
  { kind: 'launcher', label: msg('Launchers') },
] as const;

/** Filters that decide which apps the library shows. */
export type Filter = Pick<Place, 'text' | 'kind' | 'favourites'>;

/** Whether the filters show an app. @param text lower case, without surrounding spaces */
export function isShown(app: AppListItem, { text, kind, favourites }: Filter): boolean {
  return (
    (kind === null || app.kind === kind) &&
    (!favourites || app.favourite) &&
    (text === '' || app.name.toLocaleLowerCase().includes(text))
  );
}

/**
 * Filters by kind and favourites, and a search that updates with each key; `/` focuses the search, Escape clears it.
 */
export function Filters(props: {
  apps: readonly AppListItem[];
  filter: Filter;
  onChange: (part: Partial<Filter>) => void;
}) {
  const { apps, filter, onChange } = props;
  const kinds = KINDS.filter(({ kind }) => apps.some((app) => app.kind === kind));
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <div className={styles.filters}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as part of a form */}
      <div className={styles.kinds} role="group" aria-label={t('Show only')}>
        {kinds.length > 1 &&
          kinds.map(({ kind, label }) => (
            <button
              key={kind}
              type="button"
              className={styles.kind}
              aria-pressed={filter.kind === kind}
              onClick={() => onChange({ kind: filter.kind === kind ? null : kind })}
            >
              {t(label)}
            </button>
          ))}
        <button
          type="button"
          className={styles.kind}
          aria-pressed={filter.favourites}
          aria-label={t('Favourites')}
          onClick={() => onChange({ favourites: !filter.favourites })}
        >
          <IconStarFilled size={16} aria-hidden="true" />
        </button>
      </div>
      <TextInput
        ref={search}
        type="search"
        aria-label={t('Find an app')}
        aria-keyshortcuts="/"
        placeholder={t('Find an app')}
        leftSection={<IconSearch size={18} />}
        value={filter.text}
        onChange={(event) => onChange({ text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || filter.text === '') return;
          event.preventDefault();
          onChange({ text: '' });
        }}
      />
    </div>
  );
}
