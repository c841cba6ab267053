/** The page's hello on the signaling socket: client id, codecs, resumed connection. */
import type { Codec } from '@footlight/protocol';
import { type Hello, SIGNAL_PROTOCOL } from '@footlight/protocol/signal';
import { randomUuid } from '../environment.ts';
import type { StreamClientOptions } from '../types.ts';

const MIME: readonly (readonly [string, Codec])[] = [
  ['video/h264', 'h264'],
  ['video/h265', 'h265'],
  ['video/av1', 'av1'],
];

/**
 * One client id for each page load. With the same id, a page that reconnects resumes its connection and does not take
 * over from itself.
 */
let pageClientId: string | null = null;

/** Codecs that this browser decodes, in the order of MIME; only h264 if the browser does not report codecs. */
export function decodableCodecs(): Codec[] {
  const capabilities =
    typeof RTCRtpReceiver === 'undefined' ? null : RTCRtpReceiver.getCapabilities?.('video');
  if (capabilities == null) return ['h264'];
  const mimeTypes = new Set(capabilities.codecs.map((codec) => codec.mimeType.toLowerCase()));
  return MIME.filter(([mime, codec]) => codec === 'h264' || mimeTypes.has(mime)).map(([, codec]) => codec);
}

/** @param resume id of the connection that still plays; null: none plays */
export function greeting(
  options: Pick<StreamClientOptions, 'client' | 'codecs'>,
  resume: string | null,
): Hello {
  pageClientId ??= randomUuid();
  const hello: Hello = {
    type: 'hello',
    protocol: SIGNAL_PROTOCOL,
    client_id: pageClientId,
    client: { kind: 'browser', ...options.client },
    codecs: options.codecs ?? decodableCodecs(),
  };
  return resume === null ? hello : { ...hello, resume: { pc_id: resume } };
}
