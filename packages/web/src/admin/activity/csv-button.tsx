import type { ActivityEntry } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDownload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import { saveFile } from '../diagnosis/save-file.ts';
import { actionLabel, detailLabel } from './activity-labels.ts';
import { restOf, thingOf } from './activity-things.ts';
import { csvOf } from './csv.ts';
import { useNames } from './use-names.ts';

/** Largest page size of the server. */
const PAGE = 100;
/**
 * Largest number of entries in one file: a hundred requests, and a file that spreadsheets still open quickly. Chosen,
 * not measured.
 */
const MAX = 10_000;
const HEAD = [
  msg('Time'),
  msg('Who'),
  msg('What'),
  msg('Object'),
  msg('Details'),
  msg('Severity'),
  msg('Action'),
  msg('Kind'),
  msg('Id'),
];

/** The filters of the requested entries. */
type Filter = Parameters<typeof call<'activity.list'>>[1]['query'];

/** Saves the filtered entries as a table for spreadsheets. */
export function CsvButton({ filter }: { filter: Filter }) {
  const names = useNames();
  const [loaded, setLoaded] = useState(0);
  const save = useMutation({
    mutationFn: async () => {
      const entries: ActivityEntry[] = [];
      let cursor: number | undefined;
      do {
        const page = await call('activity.list', { query: { ...filter, limit: PAGE, cursor } });
        entries.push(...page.items);
        setLoaded(entries.length);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined && entries.length < MAX);
      const rows = entries.map((entry) => [
        entry.created_at,
        entry.actor_username ?? '',
        actionLabel(entry.action),
        thingOf(entry, names).label,
        detailLabel({ details: restOf(entry.details) }),
        entry.severity,
        entry.action,
        entry.target_type,
        entry.target_id ?? '',
      ]);
      const day = new Date(clock.nowMs()).toISOString().slice(0, 10);
      // The byte order mark tells spreadsheets that the text is UTF-8.
      const text = `\uFEFF${csvOf([HEAD.map((head) => t(head)), ...rows])}`;
      saveFile(new Blob([text], { type: 'text/csv' }), `activity-${day}.csv`);
      return { count: entries.length, isWhole: cursor === undefined };
    },
    onMutate: () => {
      notifications.clean();
      setLoaded(0);
    },
    onSuccess: ({ count, isWhole }) =>
      notifications.show({
        message: isWhole
          ? plural(count, '{n} entry saved', '{n} entries saved')
          : plural(
              count,
              'The newest {n} entry was saved; filter by time for older ones',
              'The newest {n} entries were saved; filter by time for older ones',
            ),
        autoClose: 6000,
      }),
    onError: () =>
      notifications.show({
        message: t('The entries could not be loaded; nothing was saved'),
        color: 'danger',
      }),
  });
  return (
    <Button leftSection={<IconDownload size={18} />} disabled={save.isPending} onClick={() => save.mutate()}>
      {save.isPending ? plural(loaded, '{n} entry', '{n} entries') : t('Save as CSV')}
    </Button>
  );
}
