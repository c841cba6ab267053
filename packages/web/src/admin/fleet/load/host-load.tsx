import type { Host } from '@footlight/protocol/rest';
import { IconActivity } from '@tabler/icons-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/empty-state.tsx';
import { Problem } from '../../../components/problem.tsx';
import { Skeleton } from '../../../components/skeleton.tsx';
import { msg, t } from '../../../i18n/translate.ts';
import { timeLabel } from '../../diagnosis/time-labels.ts';
import { Disclosure } from '../../frame/disclosure.tsx';
import { type Column, ListTable } from '../../frame/lists/list-table.tsx';
import { Section } from '../../frame/page-head.tsx';
import { SegmentedChoice } from '../../frame/segmented-choice.tsx';
import styles from './load.module.css';
import { ChartNow, LoadDrawing } from './load-drawing.tsx';
import { type LoadChart, type LoadWindow, loadCharts, samplesIn, spanOf } from './load-model.ts';
import { useHostLoad } from './use-host-load.ts';

const WINDOWS = [
  { value: 'minutes', label: msg('5 minutes') },
  { value: 'hour', label: msg('1 hour') },
] as const;

/** The live load of a host: one chart each for CPU, GPU, memory, network and sessions. */
export function HostLoadSection({ host }: { host: Host }) {
  const load = useHostLoad(host.id);
  const [shown, setShown] = useState<LoadWindow>('minutes');
  const kept = load.data?.samples ?? [];
  const span = spanOf(kept, shown);
  const samples = samplesIn(kept, span);
  const charts = loadCharts(samples, host.mem_mb, host.capacity?.slots_total ?? 0);
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
        <Skeleton height={142} radius={14} />
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
            {charts.map((chart) => (
              <li key={chart.key} className={styles.chart}>
                <p className={styles.name}>{chart.label}</p>
                <p className={styles.now}>
                  <ChartNow chart={chart} />
                </p>
                <LoadDrawing chart={chart} span={span} shown={shown} />
                <p className={styles.top}>
                  {chart.lines.length > 1 && <Keys chart={chart} />}
                  {chart.topLabel !== '' && <span>{t('up to {value}', { value: chart.topLabel })}</span>}
                </p>
              </li>
            ))}
          </ul>
          <Disclosure label={t('The same as a table')}>
            <LoadTable charts={charts} />
          </Disclosure>
        </>
      )}
    </Section>
  );
}

function Keys({ chart }: { chart: LoadChart }) {
  return chart.lines.map(({ label }, n) => (
    <span key={label} className={styles.key} data-line={n % 4}>
      {label}
    </span>
  ));
}

/** The newest samples, one per row. */
function LoadTable({ charts }: { charts: readonly LoadChart[] }) {
  const lines = charts.flatMap((chart) => chart.lines.map((line) => ({ chart, line })));
  const times = new Set(lines.flatMap(({ line }) => line.points.map(({ ts_unix_ms }) => ts_unix_ms)));
  const columns: readonly Column<number>[] = [
    { head: msg('Time'), cell: (ms) => <span className="tabular">{timeLabel(ms)}</span> },
    ...lines.map(({ chart, line }) => ({
      head: headOf(chart, line.label),
      translated: true as const,
      kind: 'number' as const,
      cell: (ms: number) => {
        const value = line.points.find(({ ts_unix_ms }) => ts_unix_ms === ms)?.v;
        return value === undefined ? '–' : cellLabel(chart.key, value);
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

function cellLabel(key: LoadChart['key'], value: number): string {
  if (key === 'cpu' || key === 'gpu') return `${Math.round(value * 100)} %`;
  if (key === 'memory') return `${Math.round(value)} MB`;
  return key === 'network' ? `${Math.round(value)} kbit/s` : String(value);
}
