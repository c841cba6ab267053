import type { Capture } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { queryOptions, useMutation, useQueries, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { ApiFailure, call } from '../../../api/client.ts';
import { clock } from '../../../clock.ts';
import { Problem } from '../../../components/problem.tsx';
import { Skeleton } from '../../../components/skeleton.tsx';
import { StateChip } from '../../../components/state-chip.tsx';
import { msg, t } from '../../../i18n/translate.ts';
import pages from '../../frame/admin-pages.module.css';
import { adminKeys } from '../../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../../frame/lists/list-table.tsx';
import styles from '../diagnosis.module.css';
import type { TraceEvent } from '../event-labels.ts';
import { saveFile } from '../save-file.ts';
import { timeLabel } from '../time-labels.ts';
import {
  burstRows,
  CAPTURE_KINDS,
  type CaptureKind,
  captureFileName,
  captureText,
  kindLabel,
} from './capture-content.ts';
import { readPipeline } from './pipeline-graph.ts';

/** The library for graph layout is loaded when the first graph is shown. */
const PipelineDrawing = lazy(() =>
  import('./pipeline-drawing.tsx').then((module) => ({ default: module.PipelineDrawing })),
);

const POLL_MS = 1_000;
/**
 * The host ends a capture after 11 s. If a capture has no result after LIMIT_MS, the host has probably lost its
 * connection, and the capture is shown as lost.
 */
const LIMIT_MS = 30_000;

/** A capture that was started here, or whose result is among the events of the window. */
interface Known {
  id: string;
  kind: string;
  atMs: number;
  arrived: boolean;
}

/** @property lost the result will not arrive */
interface Row extends Known {
  capture: Capture | undefined;
  lost: boolean;
}

/** Starts captures on a running session, and shows their results. @param props.events events of the shown window */
export function Captures(props: { sessionId: string; running: boolean; events: readonly TraceEvent[] }) {
  const { sessionId, running, events } = props;
  const [armed, setArmed] = useState<readonly Known[]>([]);
  const [shown, setShown] = useState<string>();
  const arm = useMutation({
    mutationFn: (kind: CaptureKind) =>
      call('admin.sessions.capture', { params: { id: sessionId }, body: { kind } }),
    onSuccess: ({ capture_id, kind }) => {
      setArmed((before) => [{ id: capture_id, kind, atMs: clock.nowMs(), arrived: false }, ...before]);
      setShown(capture_id);
    },
  });
  const ids = new Set(armed.map(({ id }) => id));
  const known = [...armed, ...capturesAmong(events).filter(({ id }) => !ids.has(id))];
  const results = useQueries({ queries: known.map((each) => resultQuery(sessionId, each)) });
  const rows = known.map((each, n): Row => {
    const { capture, lost = false } = results[n]?.data ?? {};
    return { ...each, capture, lost };
  });
  return (
    <>
      <ul className={styles.kinds}>
        {CAPTURE_KINDS.map(({ kind, action, tells }) => (
          <li key={kind}>
            <Button
              disabled={!running || arm.isPending}
              loading={arm.isPending && arm.variables === kind}
              aria-describedby={`tells-${kind}`}
              onClick={() => arm.mutate(kind)}
            >
              {t(action)}
            </Button>
            <p id={`tells-${kind}`}>{t(tells)}</p>
          </li>
        ))}
      </ul>
      {!running && <p className={pages.dim}>{t('Captures need a running session.')}</p>}
      {arm.isError &&
        (isTooOld(arm.error) ? (
          <p className={pages.note} role="alert">
            {t('The agent of this host is too old to capture. Update it, then try again.')}
          </p>
        ) : (
          <Problem error={arm.error} />
        ))}
      {rows.length > 0 && (
        <ListTable
          label={t('Captures')}
          columns={columns(shown, setShown)}
          rows={rows}
          rowKey={({ id }) => id}
          detail={({ id, capture }) =>
            shown === id &&
            capture !== undefined && (
              <div id={bodyId(id)}>
                <CaptureBody sessionId={sessionId} capture={capture} />
              </div>
            )
          }
        />
      )}
    </>
  );
}

const columns = (
  shown: string | undefined,
  onShow: (id: string | undefined) => void,
): readonly Column<Row>[] => {
  const toggle = ({ id, capture }: Row) => ({
    'aria-expanded': shown === id,
    'aria-controls': bodyId(id),
    disabled: capture === undefined,
    onClick: () => onShow(shown === id ? undefined : id),
  });
  return [
    {
      head: msg('Kind'),
      cell: (row) => (
        <button type="button" className={pages.nameLink} {...toggle(row)}>
          {kindLabel(row.kind)}
        </button>
      ),
    },
    { head: msg('State'), live: true, cell: (row) => <CaptureChip {...row} /> },
    {
      head: msg('Time'),
      cell: ({ capture, atMs }) => <span className="tabular">{timeLabel(capture?.ts_unix_ms ?? atMs)}</span>,
    },
    {
      head: msg('Size'),
      kind: 'number',
      cell: ({ capture }) => (capture === undefined ? '–' : bytesLabel(capture.bytes)),
    },
    {
      head: msg('Actions'),
      kind: 'action',
      cell: (row) => {
        const { id, capture } = row;
        const named = { kind: kindLabel(row.kind), time: timeLabel(row.atMs) };
        return (
          <>
            <Button
              size="compact-sm"
              variant="subtle"
              aria-label={
                shown === id
                  ? t('Hide capture {kind} of {time}', named)
                  : t('Show capture {kind} of {time}', named)
              }
              {...toggle(row)}
            >
              {shown === id ? t('Hide') : t('Show')}
            </Button>
            <Button
              size="compact-sm"
              variant="subtle"
              disabled={capture?.data === undefined && capture?.json === undefined}
              aria-label={t('Download capture {kind} of {time}', named)}
              onClick={() => void saveText(capture)}
            >
              {t('Download')}
            </Button>
          </>
        );
      },
    },
  ];
};

const bodyId = (id: string): string => `capture-${id}`;

/** Captures of a window whose results are among its events, newest first. */
function capturesAmong(events: readonly TraceEvent[]): Known[] {
  return events
    .filter(({ type, payload }) => type.startsWith('diag.') && typeof payload.capture_id === 'string')
    .map(({ type, ts_unix_ms, payload }) => ({
      id: String(payload.capture_id),
      kind: type.slice('diag.'.length),
      atMs: ts_unix_ms,
      arrived: true,
    }))
    .reverse();
}

function CaptureChip({ capture, lost }: Row) {
  if (capture?.error !== undefined) return <StateChip tone="danger">{t('Failed')}</StateChip>;
  if (capture !== undefined)
    return (
      <StateChip tone={capture.truncated ? 'warning' : 'success'}>
        {capture.truncated ? t('Ready, shortened') : t('Ready')}
      </StateChip>
    );
  return lost ? (
    <StateChip tone="danger">{t('Did not arrive')}</StateChip>
  ) : (
    <StateChip tone="info">{t('Under way')}</StateChip>
  );
}

/** Unpacks a result and saves it as a file. A result that cannot be unpacked is not saved. */
async function saveText(capture: Capture | undefined): Promise<void> {
  if (capture === undefined) return;
  const text = await captureText(capture).catch(() => null);
  if (text !== null) saveFile(new Blob([text], { type: 'text/plain' }), captureFileName(capture));
}

/** Waits for a capture and reads its result. */
const resultQuery = (sessionId: string, known: Known) =>
  queryOptions({
    queryKey: adminKeys.sessionCapture(sessionId, known.id),
    queryFn: async ({ signal }) => {
      // The events of a host whose clock is wrong can be outside the window, so at the limit the result is read anyway.
      const isLate = clock.nowMs() - known.atMs > LIMIT_MS;
      if (!known.arrived && !isLate && !(await hasArrived(sessionId, known, signal))) return { lost: false };
      const params = { id: sessionId, capture_id: known.id };
      try {
        return { capture: await call('admin.sessions.captureResult', { params, signal }), lost: false };
      } catch (error) {
        // The result never arrived, or was deleted meanwhile.
        if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
        return { lost: true };
      }
    },
    refetchInterval: ({ state }) =>
      state.data === undefined || (state.data.capture === undefined && !state.data.lost) ? POLL_MS : false,
    // A result never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });

/**
 * Whether the result of a capture is among the session's events. The result itself is read only then, because the server
 * answers 404 before, which browsers report as an error.
 */
async function hasArrived(sessionId: string, { id, kind }: Known, signal: AbortSignal): Promise<boolean> {
  const { events } = await call('admin.sessions.traceEvents', {
    params: { id: sessionId },
    query: { types: `diag.${kind}` },
    signal,
  });
  return events.some(({ payload }) => payload.capture_id === id);
}

/** Shows the result of a capture. Unpacks it only while it is shown, because a session may have 200 results. */
function CaptureBody({ sessionId, capture }: { sessionId: string; capture: Capture }) {
  const { data: text } = useQuery({
    queryKey: adminKeys.captureText(sessionId, capture.capture_id),
    queryFn: () => captureText(capture).catch(() => null),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (capture.error !== undefined)
    return (
      <p>{t('The host could not capture it: {error}.', { error: capture.error.replaceAll('_', ' ') })}</p>
    );
  if (text === undefined) return null;
  if (text === null) return <p>{t('The result cannot be read.')}</p>;
  const label = t('Capture {kind}', { kind: kindLabel(capture.kind) });
  const rows = capture.kind === 'burst_stats' ? burstRows(text) : [];
  const graph = capture.kind === 'pipeline_dot' ? readPipeline(text) : null;
  return (
    <div className={pages.stack}>
      {graph !== null && (
        <Suspense fallback={<Skeleton height={560} radius={8} />}>
          <PipelineDrawing graph={graph} />
        </Suspense>
      )}
      {rows.length > 0 ? (
        <ListTable
          label={t('Frames of the capture')}
          columns={BURST_COLUMNS}
          rows={rows}
          rowKey={(row) => row.atMs}
        />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which a keyboard must be able to do
        <pre className={pages.log} tabIndex={0} role="log" aria-label={label}>
          {text}
        </pre>
      )}
      {capture.truncated && (
        <p className={pages.dim}>{t('The result was too long, so only a part of it is here.')}</p>
      )}
    </div>
  );
}

const BURST_COLUMNS: readonly Column<ReturnType<typeof burstRows>[number]>[] = [
  { head: msg('From'), kind: 'number', cell: (row) => `${Math.round(row.atMs)} ms` },
  { head: 'fps', kind: 'number', cell: (row) => figure(row.fps, 0) },
  { head: msg('Encoding, median ms'), kind: 'number', cell: (row) => figure(row.encodeP50, 1) },
  { head: msg('95th percentile ms'), kind: 'number', cell: (row) => figure(row.encodeP95, 1) },
  { head: msg('Longest ms'), kind: 'number', cell: (row) => figure(row.encodeMax, 1) },
  { head: 'kbit/s', kind: 'number', cell: (row) => figure(row.bitrateKbps, 0) },
  { head: msg('Dropped'), kind: 'number', cell: (row) => figure(row.dropped, 0) },
];

const figure = (value: number | undefined, digits: number): string =>
  value === undefined ? '–' : value.toFixed(digits);

const bytesLabel = (bytes: number): string =>
  bytes < 1_024 ? `${bytes} B` : `${Math.round(bytes / 1_024)} kB`;

/** If a host does not support captures, the server answers 501, which is not a fault of the server. */
const isTooOld = (error: unknown): boolean =>
  error instanceof ApiFailure && error.code === 'capture_unsupported';
