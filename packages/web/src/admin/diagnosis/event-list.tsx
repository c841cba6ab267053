import { Button } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useState } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import pages from '../frame/admin-pages.module.css';
import { type Column, DataTable } from '../frame/lists/data-table.tsx';
import styles from './diagnosis.module.css';
import { detailLabel, eventLabel, type TraceEvent, toneOf } from './event-labels.ts';
import { exactTimeLabel, timeLabel } from './time-labels.ts';

/** Rows before "Show more"; the service reads at most 1,000 events. */
const FIRST_ROWS = 50;
const COLUMNS: readonly Column[] = [
  { label: msg('Time') },
  { label: msg('Event') },
  { label: msg('Detail') },
  { label: msg('Seen by') },
];

/** Events of a window, newest first. A click on a time moves the cursor of the charts to this time. */
export function EventList(props: { events: readonly TraceEvent[]; onCursor: (ms: number) => void }) {
  const { events, onCursor } = props;
  const [rows, setRows] = useState(FIRST_ROWS);
  if (events.length === 0) {
    return (
      <EmptyState icon={IconHistory} title={t('Nothing happened in this window')}>
        {t('Changes of the connection, freezes, stalls and notes are listed here.')}
      </EmptyState>
    );
  }
  return (
    <>
      <DataTable
        label={t('Events')}
        columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
      >
        {keyed(events)
          .reverse()
          .slice(0, rows)
          .map(({ key, event }) => (
            <tr key={key}>
              <td className="tabular">
                <button
                  type="button"
                  className={pages.nameLink}
                  title={exactTimeLabel(event.ts_unix_ms)}
                  aria-label={t('Show the values at {time}', { time: timeLabel(event.ts_unix_ms) })}
                  onClick={() => onCursor(event.ts_unix_ms)}
                >
                  {timeLabel(event.ts_unix_ms)}
                </button>
              </td>
              <td>
                <StateChip tone={toneOf(event)}>{eventLabel(event)}</StateChip>
              </td>
              <td className={`${pages.wrapCell} ${styles.detail}`}>{detailLabel(event)}</td>
              <td className={pages.dim}>
                {event.type === 'operator.annotation'
                  ? t('administrator')
                  : event.source === 'agent'
                    ? t('host')
                    : t('viewer')}
              </td>
            </tr>
          ))}
      </DataTable>
      {rows < events.length && (
        <Button className={pages.more ?? ''} onClick={() => setRows(rows + FIRST_ROWS)}>
          {t('Show more')}
        </Button>
      )}
    </>
  );
}

/** Several events may have the same time and type; a number makes their keys unique. */
export function keyed(events: readonly TraceEvent[]): { key: string; event: TraceEvent }[] {
  const seen = new Map<string, number>();
  return events.map((event) => {
    const name = `${event.source} ${event.ts_unix_ms} ${event.type}`;
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    return { key: `${name} ${nth}`, event };
  });
}
