import type { Host } from '@footlight/protocol/rest';
import { IconActivity } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { EmptyState } from '../../../components/empty-state.tsx';
import { Problem } from '../../../components/problem.tsx';
import { Skeleton } from '../../../components/skeleton.tsx';
import { msg, rich, t } from '../../../i18n/translate.ts';
import { timeLabel } from '../../diagnosis/time-labels.ts';
import { ChartKey } from '../../frame/chart/chart.tsx';
import { Disclosure } from '../../frame/disclosure.tsx';
import { type Column, ListTable } from '../../frame/lists/list-table.tsx';
import { Section } from '../../frame/page-head.tsx';
import { SegmentedChoice } from '../../frame/segmented-choice.tsx';
import styles from './load.module.css';
import { ChartNow, LoadDrawing } from './load-drawing.tsx';
import { type LoadChart, type LoadWindow, loadCharts, sampleAt, samplesIn, spanOf } from './load-model.ts';
import { useHostLoad } from './use-host-load.ts';

const WINDOWS = [
  { value: 'minutes', label: msg('5 minutes') },
  { value: 'hour', label: msg('1 hour') },
] as const;

/** The live load of a host: one chart each for CPU, GPU, memory, network and sessions. */
export function HostLoadSection({ host }: { host: Host }) {
  const load = useHostLoad(host.id);
  const [shown, setShown] = useState<LoadWindow>('minutes');
  const [cursor, setCursor] = useState<number>();
  const { mem_mb: memMb } = host;
  const slots = host.capacity?.slots_total ?? 0;
  const { span, samples, charts } = useMemo(() => {
    const kept = load.data?.samples ?? [];
    const inWindow = samplesIn(kept, spanOf(kept, shown));
    return { span: spanOf(kept, shown), samples: inWindow, charts: loadCharts(inWindow, memMb, slots) };
  }, [load.data, shown, memMb, slots]);
  const texts = cursor === undefined ? charts : loadCharts(sampleAt(samples, cursor, shown), memMb, slots);
  return (
    <Section
      title={t('Load')}
      busy={load.isPending}
      actions={
        <SegmentedChoice
          label={t('Time shown')}
          value={shown}
          options={WINDOWS.map(({ value, label }) => ({ value, label: t(label) }))}
          onChange={setShown}
        />
      }
    >
      {load.isError && <Problem error={load.error} retry={() => void load.refetch()} />}
      {load.isPending ? (
        <Skeleton height={496} radius={14} />
      ) : samples.length === 0 ? (
        <EmptyState
          icon={IconActivity}
          title={host.status === 'offline' ? t('The host is offline') : t('No report yet')}
        >
          {t('Its agent reports the load of the machine every five seconds.')}
        </EmptyState>
      ) : (
        <>
          <ul className={styles.charts}>
            {charts.map((chart, n) => (
              <li key={chart.key} className={styles.chart}>
                <p className={styles.name}>{chart.label}</p>
                <p className={styles.now}>
                  <ChartNow chart={texts[n] ?? chart} />
                </p>
                <LoadDrawing
                  className={styles.drawing}
                  chart={chart}
                  span={span}
                  shown={shown}
                  cursor={cursor}
                  onCursor={setCursor}
                />
                {chart.lines.length > 1 && <Keys chart={chart} />}
              </li>
            ))}
          </ul>
          <p className={styles.name}>
            {rich('Values at {time}', {
              time: (
                <span key="time" className="tabular">
                  {timeLabel(cursor ?? span.to_ms)}
                </span>
              ),
            })}
          </p>
          <Disclosure label={t('The same as a table')}>
            <LoadTable charts={charts} />
          </Disclosure>
        </>
      )}
    </Section>
  );
}

function Keys({ chart }: { chart: LoadChart }) {
  return (
    <p className={styles.keys}>
      {chart.lines.map(({ label }, n) => (
        <span key={label}>
          <ChartKey line={n} /> {label}
        </span>
      ))}
    </p>
  );
}

/** The newest samples, one per row. */
function LoadTable({ charts }: { charts: readonly LoadChart[] }) {
  const lines = charts.flatMap((chart) => chart.lines.map((line) => ({ chart, line })));
  const times = new Set(lines.flatMap(({ line }) => line.points.map(({ x }) => x)));
  const columns: readonly Column<number>[] = [
    { head: msg('Time'), cell: (ms) => <span className="tabular">{timeLabel(ms)}</span> },
    ...lines.map(({ chart, line }) => ({
      head: headOf(chart, line.label),
      translated: true as const,
      kind: 'number' as const,
      cell: (ms: number) => {
        const value = line.points.find(({ x }) => x === ms)?.y;
        return value === undefined ? '–' : chart.cell(value);
      },
    })),
  ];
  return (
    <ListTable
      label={t('Load')}
      columns={columns}
      rows={[...times].sort((a, b) => b - a)}
      rowKey={(ms) => ms}
    />
  );
}

/**
 * The head of a column without the chart's title, for example "GPU 2", so that the table of a host with many GPUs stays
 * narrow.
 */
function headOf(chart: LoadChart, line: string): string {
  if (chart.lines.length === 1) return chart.label;
  return chart.key === 'gpu' ? line : `${chart.label}, ${line}`;
}
