import type { SessionDisplayUpdate, StreamSpec, VideoTopology } from '@footlight/protocol/agent';
import type { DisplayUpdate } from '../../media/worker/worker-messages.ts';

/**
 * Limits of a requested display: at least 16 pixels (the smallest macroblock of H.264), and scale 1 to 3, as on screens
 * from 96 to 288 dpi.
 */
const MIN_RENDER_PX = 16;
const MIN_UI_SCALE = 1;
const MAX_UI_SCALE = 3;

/**
 * The reason why this host refuses a change of sizes. Pure.
 * @param stream of the launch: its size limits the display, and its rungs are the allowed sizes of the picture
 * @returns null when the change is allowed
 */
export function displayProblem(
  change: Omit<SessionDisplayUpdate, 'type' | 'id' | 'session_id'>,
  stream: Pick<StreamSpec, 'width' | 'height' | 'rungs'>,
): string | null {
  const { render_width, render_height, ui_scale, stream_width, stream_height } = change;
  if ((render_width === undefined) !== (render_height === undefined)) return 'half a display size';
  if ((stream_width === undefined) !== (stream_height === undefined)) return 'half a stream size';
  if (render_width === undefined && ui_scale === undefined && stream_width === undefined)
    return 'nothing is asked for';
  if (!isSide(render_width, stream.width) || !isSide(render_height, stream.height))
    return `${render_width}×${render_height} is no size of this display`;
  if (ui_scale !== undefined && !(ui_scale >= MIN_UI_SCALE && ui_scale <= MAX_UI_SCALE))
    return `${ui_scale} is no scale`;
  const sizes = [[stream.width, stream.height], ...stream.rungs];
  const isRung = sizes.some(([width, height]) => width === stream_width && height === stream_height);
  return stream_width === undefined || isRung
    ? null
    : `${stream_width}×${stream_height} is no size of this stream`;
}

/**
 * The reason why a change is refused for a console, which has a fixed size. Pure.
 * @returns null when the change is allowed
 */
export function besideHostProblem(
  { render_width, stream_width }: Pick<SessionDisplayUpdate, 'render_width' | 'stream_width'>,
  topology: VideoTopology,
): string | null {
  if (topology === 'stream_only') return null;
  if (render_width !== undefined) return 'a display beside the host keeps its size';
  return topology === 'local_only' && stream_width !== undefined ? 'the session is not streamed' : null;
}

/** The sizes of an accepted change, as the worker needs them. Pure. */
export function sizesOf(
  change: Omit<SessionDisplayUpdate, 'type' | 'id' | 'session_id'>,
): Omit<DisplayUpdate, 'type' | 'request'> {
  const { render_width, render_height, ui_scale, stream_width, stream_height } = change;
  return {
    ...(render_width !== undefined && render_height !== undefined
      ? { render: { width: render_width, height: render_height } }
      : {}),
    ...(ui_scale === undefined ? {} : { ui_scale }),
    ...(stream_width !== undefined && stream_height !== undefined
      ? { stream: { width: stream_width, height: stream_height } }
      : {}),
  };
}

function isSide(pixels: number | undefined, launch: number): boolean {
  return pixels === undefined || (pixels % 2 === 0 && pixels >= MIN_RENDER_PX && pixels <= launch);
}
