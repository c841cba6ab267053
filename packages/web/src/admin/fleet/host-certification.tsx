import type { Certification, Concurrency, Host } from '@footlight/protocol/rest';
import { IconGauge } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { CopyLine } from '../../components/copy-line.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip, type Tone } from '../../components/state-chip.tsx';
import { decimalLabel } from '../../i18n/number-labels.ts';
import { msg, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { Section } from '../frame/page-head.tsx';
import { CurveDrawing } from './curve-drawing.tsx';
import fleet from './fleet.module.css';

const VERDICTS: Record<Certification['verdict'], [Tone, string]> = {
  ok: ['success', msg('Keeps up')],
  capped: ['warning', msg('Barely keeps up')],
  unsafe: ['danger', msg('Too slow')],
};
type Measured = Pick<
  Certification,
  'stream_profile_id' | 'bitrate_kbps' | 'encoder' | 'gpu_index' | 'measured_at'
>;
const RUNG: Column<Measured> = {
  head: msg('Rung'),
  cell: (row) => <b style={{ fontWeight: 600 }}>{row.stream_profile_id}</b>,
};
const RATE: Column<Measured> = { head: 'kbit/s', kind: 'number', cell: (row) => row.bitrate_kbps };
const LAST: readonly Column<Measured>[] = [
  { head: msg('Encoder'), cell: (row) => `${row.encoder} · GPU ${row.gpu_index}` },
  { head: msg('Measured'), cell: (row) => <RelativeTime at={row.measured_at} /> },
];
const VERDICT_COLUMNS: readonly Column<Certification>[] = [
  RUNG,
  {
    head: msg('Verdict'),
    cell: ({ verdict }) => {
      const [tone, label] = VERDICTS[verdict];
      return <StateChip tone={tone}>{t(label)}</StateChip>;
    },
  },
  RATE,
  {
    head: msg('Encode p95'),
    kind: 'number',
    cell: (row) =>
      t('{time} of {limit} ms', {
        time: decimalLabel(row.encode_ms_p95, 1),
        limit: decimalLabel(1000 / row.fps, 1),
      }),
  },
  {
    head: msg('Frames'),
    kind: 'number',
    cell: (row) => t('{n} of {total}', { n: decimalLabel(row.output_fps, 1), total: row.fps }),
  },
  ...LAST,
];
const curveColumns = (rows: readonly Certification[]): readonly Column<Concurrency>[] => [
  RUNG,
  { head: msg('At once'), kind: 'number', cell: (curve) => curve.sessions },
  RATE,
  {
    head: msg('Encode p95 for each number of sessions'),
    cell: (curve) => <Curve curve={curve} fps={fpsOf(curve, rows)} />,
  },
  ...LAST,
];

/** Verdicts and curves of a host. */
export const useCertification = (id: string) =>
  useQuery({
    queryKey: adminKeys.hostCertification(id),
    queryFn: async ({ signal }) => {
      const [rows, curves] = await Promise.all([
        call('certification.list', { params: { id }, signal }),
        call('certification.concurrency', { params: { id }, signal }),
      ]);
      return { rows: rows.certifications, curves: curves.items };
    },
  });

/** Measured load that a host's encoders can sustain, and the number of concurrent sessions. */
export function HostCertification({ host }: { host: Pick<Host, 'id' | 'node_name' | 'status'> }) {
  const found = useCertification(host.id);
  if (found.isError)
    return (
      <Section title={t('Certification')}>
        <Problem error={found.error} retry={() => void found.refetch()} />
      </Section>
    );
  const { rows = [], curves = [] } = found.data ?? {};
  return (
    <Section title={t('Certification')} busy={found.isPending}>
      {found.data !== undefined && rows.length === 0 && curves.length === 0 && (
        <EmptyState icon={IconGauge} title={t('Not measured yet')}>
          {t(
            'After a measurement, launches avoid the qualities for which the encoder of this host is too slow.',
          )}
        </EmptyState>
      )}
      {(rows.length > 0 || curves.length > 0) && (
        <p className={styles.dim}>
          {t(
            'Whether this host encodes each rung fast enough. A rung is one way to encode the picture: codec, size, frame rate and bitrate. Encode p95: 95 of 100 frames took at most this time.',
          )}
        </p>
      )}
      {rows.length > 0 && (
        <ListTable label={t('Verdicts')} columns={VERDICT_COLUMNS} rows={rows} rowKey={(row) => row.id} />
      )}
      {curves.length > 0 && (
        <>
          <ListTable
            label={t('Sessions at once')}
            columns={curveColumns(rows)}
            rows={curves}
            rowKey={curveKey}
          />
          {slotsByGpu(curves).map(({ gpu_index, sessions }) => (
            <p key={gpu_index} className={styles.dim}>
              {rich(
                gpu_index > 0
                  ? msg(
                      'GPU {gpu}: to offer as many slots as were measured, set {line} as number {place} of its list on the host and restart its agent.',
                    )
                  : msg(
                      'GPU {gpu}: to offer as many slots as were measured, set {line} on the host and restart its agent.',
                    ),
                {
                  gpu: gpu_index,
                  line: <code key="line">SERVICE_ENCODE_SLOTS={sessions}</code>,
                  place: gpu_index + 1,
                },
              )}
            </p>
          ))}
        </>
      )}
      {found.data !== undefined && <HowToMeasure host={host} />}
    </Section>
  );
}

/** The command that measures a host, also for another measurement; an offline host cannot be measured. */
function HowToMeasure({ host }: { host: Pick<Host, 'node_name' | 'status'> }) {
  if (host.status === 'offline')
    return <p className={styles.dim}>{t('An offline host cannot be measured. Connect it first.')}</p>;
  return (
    <>
      <p className={styles.dim}>
        {t(
          'To measure this host, sign in with footlight login, and run this command while nothing else runs on the host:',
        )}
      </p>
      <CopyLine
        value={`footlight certify ${host.node_name} --profiles 720p60`}
        label={t('command that measures the host')}
      />
      <p className={styles.dim}>
        {t('In a checkout of Footlight, scripts/certify also measures how many sessions fit at once.')}
      </p>
    </>
  );
}

function Curve({ curve, fps }: { curve: Concurrency; fps: number | null }) {
  const frameMs = fps === null ? null : 1000 / fps;
  return (
    <div className={fleet.curve}>
      <CurveDrawing curve={curve} frameMs={frameMs} />
      <ol className={fleet.curveValues}>
        {curve.curve.map(({ n, encode_ms_p95 }) => (
          <li key={n} data-passes={n <= curve.sessions}>
            {n}: {decimalLabel(encode_ms_p95, 1)} ms
          </li>
        ))}
      </ol>
      {frameMs !== null && (
        <span className={fleet.curveNote}>
          {t('The line is the time of a frame, {ms} ms.', { ms: decimalLabel(frameMs, 1) })}
        </span>
      )}
    </div>
  );
}

const curveKey = ({ gpu_index, encoder, stream_profile_id, bitrate_kbps }: Concurrency): string =>
  [gpu_index, encoder, stream_profile_id, bitrate_kbps].join(' ');

/** Frame rate of a rung, if a verdict contains it. */
const fpsOf = (curve: Concurrency, rows: readonly Certification[]): number | null =>
  rows.find(({ stream_profile_id }) => stream_profile_id === curve.stream_profile_id)?.fps ?? null;

/**
 * For each GPU with a passed measurement, the number of concurrent sessions that every measured rung allows: the
 * smallest over all rungs.
 */
function slotsByGpu(curves: readonly Concurrency[]): { gpu_index: number; sessions: number }[] {
  const fewest = new Map<number, number>();
  for (const { gpu_index, sessions } of curves)
    fewest.set(gpu_index, Math.min(sessions, fewest.get(gpu_index) ?? sessions));
  return [...fewest]
    .filter(([, sessions]) => sessions > 0)
    .map(([gpu_index, sessions]) => ({ gpu_index, sessions }));
}
