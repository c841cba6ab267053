/** Viewer for tests: real signaling and WebRTC, without a browser. */
export { type Picture, PictureDecoder } from './decoder.ts';
export { FakeViewer, type FakeViewerOptions, type ViewerAccess } from './fake-viewer.ts';
export { type AccessUnit, type NalCodec, NalDepacketizer } from './nal-units.ts';
export { parseRtp, Reorder, type RtpPacket } from './rtp.ts';
export { type VideoCounters, VideoSink } from './video-sink.ts';
export { ViewerInput } from './viewer-input.ts';

import type { Picture } from './decoder.ts';

/** Colour of a point in a picture. @param x 0 left … 1 right @param y 0 top … 1 bottom */
export function colourAt(picture: Picture, x: number, y: number): [red: number, green: number, blue: number] {
  const column = Math.min(picture.width - 1, Math.max(0, Math.floor(x * picture.width)));
  const row = Math.min(picture.height - 1, Math.max(0, Math.floor(y * picture.height)));
  const at = (row * picture.width + column) * 3;
  return [picture.rgb[at] ?? 0, picture.rgb[at + 1] ?? 0, picture.rgb[at + 2] ?? 0];
}
