import { Button } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useState } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import pages from '../frame/admin-pages.module.css';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import styles from './diagnosis.module.css';
import { detailLabel, eventLabel, type TraceEvent, toneOf } from './event-labels.ts';
import { exactTimeLabel, timeLabel } from './time-labels.ts';

/** Rows before "Show more"; the service reads at most 1,000 events. */
const FIRST_ROWS = 50;
const columns = (onCursor: (ms: number) => void): readonly Column<Keyed>[] => [
  {
    head: msg('Time'),
    cell: ({ event }) => (
      <button
        type="button"
        className={`${pages.nameLink} tabular`}
        title={exactTimeLabel(event.ts_unix_ms)}
        aria-label={t('Show the values at {time}', { time: timeLabel(event.ts_unix_ms) })}
        onClick={() => onCursor(event.ts_unix_ms)}
      >
        {timeLabel(event.ts_unix_ms)}
      </button>
    ),
  },
  {
    head: msg('Event'),
    cell: ({ event }) => <StateChip tone={toneOf(event)}>{eventLabel(event)}</StateChip>,
  },
  {
    head: msg('Detail'),
    kind: 'wrap',
    cell: ({ event }) => detailLabel(event) && <div className={styles.detail}>{detailLabel(event)}</div>,
  },
  {
    head: msg('Seen by'),
    cell: ({ event }) => (
      <span className={pages.dim}>
        {event.type === 'operator.annotation'
          ? t('administrator')
          : event.source === 'agent'
            ? t('host')
            : t('viewer')}
      </span>
    ),
  },
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
      <ListTable
        label={t('Events')}
        columns={columns(onCursor)}
        rows={keyed(events).reverse().slice(0, rows)}
        rowKey={({ key }) => key}
      />
      {rows < events.length && (
        <Button className={pages.more ?? ''} onClick={() => setRows(rows + FIRST_ROWS)}>
          {t('Show more')}
        </Button>
      )}
    </>
  );
}

interface Keyed {
  key: string;
  event: TraceEvent;
}

/** Several events may have the same time and type; a number makes their keys unique. */
export function keyed(events: readonly TraceEvent[]): Keyed[] {
  const seen = new Map<string, number>();
  return events.map((event) => {
    const name = `${event.source} ${event.ts_unix_ms} ${event.type}`;
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    return { key: `${name} ${nth}`, event };
  });
}
