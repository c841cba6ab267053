import type { Capture } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { ApiFailure, call } from '../../../api/client.ts';
import { clock } from '../../../clock.ts';
import { Problem } from '../../../components/problem.tsx';
import { Skeleton } from '../../../components/skeleton.tsx';
import { StateChip } from '../../../components/state-chip.tsx';
import { msg, t } from '../../../i18n/translate.ts';
import pages from '../../frame/admin-pages.module.css';
import { adminKeys } from '../../frame/admin-query-keys.ts';
import { type Column, DataTable } from '../../frame/lists/data-table.tsx';
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
      {known.length > 0 && (
        <DataTable
          label={t('Captures')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
        >
          {known.map((each) => (
            <CaptureRow
              key={each.id}
              sessionId={sessionId}
              known={each}
              open={shown === each.id}
              onToggle={() => setShown(shown === each.id ? undefined : each.id)}
            />
          ))}
        </DataTable>
      )}
    </>
  );
}

const COLUMNS: readonly Column[] = [
  { label: msg('Kind') },
  { label: msg('State') },
  { label: msg('Time') },
  { label: msg('Size'), kind: 'number' },
  { label: msg('Actions'), kind: 'action' },
];

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

function CaptureRow(props: { sessionId: string; known: Known; open: boolean; onToggle: () => void }) {
  const { known, open } = props;
  const result = useCaptureResult(props.sessionId, known);
  const { capture, lost } = result;
  const bodyId = `capture-${known.id}`;
  const named = { kind: kindLabel(known.kind), time: timeLabel(known.atMs) };
  return (
    <>
      <tr>
        <td>
          <button
            type="button"
            className={pages.nameLink}
            aria-expanded={open}
            aria-controls={bodyId}
            disabled={capture === undefined}
            onClick={props.onToggle}
          >
            {kindLabel(known.kind)}
          </button>
        </td>
        <td aria-live="polite">
          {capture === undefined ? (
            lost ? (
              <StateChip tone="danger">{t('Did not arrive')}</StateChip>
            ) : (
              <StateChip tone="info">{t('Under way')}</StateChip>
            )
          ) : capture.error !== undefined ? (
            <StateChip tone="danger">{t('Failed')}</StateChip>
          ) : (
            <StateChip tone={capture.truncated ? 'warning' : 'success'}>
              {capture.truncated ? t('Ready, shortened') : t('Ready')}
            </StateChip>
          )}
        </td>
        <td className="tabular">{timeLabel(capture?.ts_unix_ms ?? known.atMs)}</td>
        <td className={pages.number}>{capture === undefined ? '–' : bytesLabel(capture.bytes)}</td>
        <td className={pages.rowActions}>
          <Button
            size="compact-sm"
            variant="subtle"
            aria-expanded={open}
            aria-controls={bodyId}
            aria-label={
              open ? t('Hide capture {kind} of {time}', named) : t('Show capture {kind} of {time}', named)
            }
            disabled={capture === undefined}
            onClick={props.onToggle}
          >
            {open ? t('Hide') : t('Show')}
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
        </td>
      </tr>
      {open && capture !== undefined && (
        <tr id={bodyId}>
          <td colSpan={COLUMNS.length} className={pages.wrapCell}>
            <CaptureBody sessionId={props.sessionId} capture={capture} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Unpacks a result and saves it as a file. A result that cannot be unpacked is not saved. */
async function saveText(capture: Capture | undefined): Promise<void> {
  if (capture === undefined) return;
  const text = await captureText(capture).catch(() => null);
  if (text !== null) saveFile(new Blob([text], { type: 'text/plain' }), captureFileName(capture));
}

/** Waits for a capture and reads its result. `lost`: the result will not arrive. */
function useCaptureResult(sessionId: string, known: Known) {
  const query = useQuery({
    queryKey: adminKeys.sessionCapture(sessionId, known.id),
    queryFn: async ({ signal }) => {
      if (!known.arrived && !(await hasArrived(sessionId, known, signal)))
        return { lost: clock.nowMs() - known.atMs > LIMIT_MS };
      const params = { id: sessionId, capture_id: known.id };
      try {
        return { capture: await call('admin.sessions.captureResult', { params, signal }), lost: false };
      } catch (error) {
        // The result was deleted meanwhile.
        if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
        return { lost: true };
      }
    },
    refetchInterval: ({ state }) =>
      state.data === undefined || (state.data.capture === undefined && !state.data.lost) ? POLL_MS : false,
    // A result never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { capture: query.data?.capture, lost: query.data?.lost ?? false };
}

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
        <DataTable
          label={t('Frames of the capture')}
          columns={BURST_COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
        >
          {rows.map((row) => (
            <tr key={row.atMs}>
              <td className={pages.number}>{Math.round(row.atMs)} ms</td>
              <td className={pages.number}>{figure(row.fps, 0)}</td>
              <td className={pages.number}>{figure(row.encodeP50, 1)}</td>
              <td className={pages.number}>{figure(row.encodeP95, 1)}</td>
              <td className={pages.number}>{figure(row.encodeMax, 1)}</td>
              <td className={pages.number}>{figure(row.bitrateKbps, 0)}</td>
              <td className={pages.number}>{figure(row.dropped, 0)}</td>
            </tr>
          ))}
        </DataTable>
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

const BURST_COLUMNS: readonly Column[] = [
  { label: msg('From'), kind: 'number' },
  { label: 'fps', kind: 'number' },
  { label: msg('Encoding, median ms'), kind: 'number' },
  { label: msg('95th percentile ms'), kind: 'number' },
  { label: msg('Longest ms'), kind: 'number' },
  { label: 'kbit/s', kind: 'number' },
  { label: msg('Dropped'), kind: 'number' },
];

const figure = (value: number | undefined, digits: number): string =>
  value === undefined ? '–' : value.toFixed(digits);

const bytesLabel = (bytes: number): string =>
  bytes < 1_024 ? `${bytes} B` : `${Math.round(bytes / 1_024)} kB`;

/** If a host does not support captures, the server answers 501, which is not a fault of the server. */
const isTooOld = (error: unknown): boolean =>
  error instanceof ApiFailure && error.code === 'capture_unsupported';
