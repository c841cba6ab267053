/** Validates changes of a running session's sizes, and reads the sizes in an agent's metrics. Pure. */
import type { SessionMetrics } from '@footlight/protocol/agent';
import type { Body, SessionStream } from '@footlight/protocol/rest';
import type { SessionsTable } from '../../platform/database/tables/sessions.ts';
import type { Refusal } from '../launch/refusal.ts';
import { rungsOf } from '../stream/stream.ts';

export type DisplayChange = Body<'sessions.display'>;

type LaunchSize = Pick<SessionsTable, 'stream_width' | 'stream_height'>;

/** Size of the picture as the agent reported it; a missing member was not reported. */
export interface ObservedDisplay {
  /** Pixels; missing: the size is the launch size. */
  width?: number;
  height?: number;
  /** pinned: a request set the size. auto: the rate control may change the size. */
  owner?: 'auto' | 'pinned';
  external_resize_supported?: boolean;
}

/**
 * Maximum pending size changes of one session, because all sessions of a host share the limit of the link's pending
 * commands.
 */
const MAX_PENDING_CHANGES = 8;
const MIN_RENDER_PX = 16;
const MIN_UI_SCALE = 1;
const MAX_UI_SCALE = 3;

/** Whether the change contains a picture size, not only a display size. */
export const asksForPicture = ({ stream_width, stream_height }: DisplayChange): boolean =>
  stream_width !== undefined || stream_height !== undefined;

/**
 * Decides whether a change of sizes may be sent to the session's host.
 * @param now.display last report of the agent; undefined: it has reported nothing yet
 * @param now.pending changes of this session that the host has not answered (count)
 */
export function judgeDisplayChange(
  session: LaunchSize & Pick<SessionsTable, 'state' | 'host_id'>,
  change: DisplayChange,
  now: { display: ObservedDisplay | undefined; pending: number },
): Refusal | null {
  if (session.state !== 'running' || session.host_id === null) return { code: 'session_not_running' };
  if (asksForPicture(change) && now.display?.external_resize_supported === false)
    return { code: 'external_resize_unsupported' };
  const message = decideDisplay(session, change);
  if (message !== null) return { code: 'validation_failed', message };
  if (now.pending >= MAX_PENDING_CHANGES) return { code: 'rate_limited', retryAfterSecs: 1 };
  return null;
}

/** @returns a sentence for the caller about the first invalid value; null: all values are valid */
export function decideDisplay(launch: LaunchSize, change: DisplayChange): string | null {
  const { render_width, render_height, ui_scale, stream_width, stream_height } = change;
  if (Object.values(change).every((value) => value === undefined)) return 'the body asks for nothing';
  if ((render_width === undefined) !== (render_height === undefined))
    return 'render_width and render_height belong together';
  if ((stream_width === undefined) !== (stream_height === undefined))
    return 'stream_width and stream_height belong together';
  const width = renderProblem('render_width', render_width, launch.stream_width);
  if (width !== null) return width;
  const height = renderProblem('render_height', render_height, launch.stream_height);
  if (height !== null) return height;
  if (ui_scale !== undefined && !(ui_scale >= MIN_UI_SCALE && ui_scale <= MAX_UI_SCALE))
    return `ui_scale: ${ui_scale} is not from ${MIN_UI_SCALE} to ${MAX_UI_SCALE}`;
  if (stream_width === undefined) return null;
  const rungs = rungsOf(launch.stream_width, launch.stream_height);
  if (rungs.some(([w, h]) => w === stream_width && h === stream_height)) return null;
  const sizes = rungs.map(([w, h]) => `${w}×${h}`).join(', ');
  return `stream_width, stream_height: ${stream_width}×${stream_height} is none of ${sizes}`;
}

function renderProblem(name: string, value: number | undefined, launch: number): string | null {
  if (value === undefined) return null;
  if (value % 2 === 0 && value >= MIN_RENDER_PX && value <= launch) return null;
  return `${name}: ${value} is not an even number from ${MIN_RENDER_PX} to ${launch}`;
}

/**
 * The picture after the host made this change. A size other than the launch size is pinned; the launch size ends the
 * pinning.
 */
export function pictureAfter(
  launch: LaunchSize,
  change: DisplayChange,
): Pick<ObservedDisplay, 'width' | 'height' | 'owner'> {
  const { stream_width: width = launch.stream_width, stream_height: height = launch.stream_height } = change;
  const released = width === launch.stream_width && height === launch.stream_height;
  return { width, height, owner: released ? 'auto' : 'pinned' };
}

/** The picture's size in an agent's metrics. */
export function displayOf(metrics: SessionMetrics['metrics']): ObservedDisplay {
  const { stream_width, stream_height, external_owner, external_resize_supported } = metrics;
  return {
    ...(typeof stream_width === 'number' && { width: stream_width }),
    ...(typeof stream_height === 'number' && { height: stream_height }),
    ...((external_owner === 'auto' || external_owner === 'pinned') && { owner: external_owner }),
    ...(typeof external_resize_supported === 'boolean' && { external_resize_supported }),
  };
}

/** The external_* fields of a stream record; empty until the agent has reported a size. */
export function displayRecord(
  launch: LaunchSize,
  display: ObservedDisplay | undefined,
): Pick<
  SessionStream,
  'external_width' | 'external_height' | 'external_owner' | 'external_resize_supported'
> {
  if (display === undefined) return {};
  const { owner, external_resize_supported } = display;
  return {
    ...(owner !== undefined && {
      // Metrics omit a size that equals the launch size.
      external_width: Math.round(display.width ?? launch.stream_width),
      external_height: Math.round(display.height ?? launch.stream_height),
      external_owner: owner,
    }),
    ...(external_resize_supported !== undefined && { external_resize_supported }),
  };
}
