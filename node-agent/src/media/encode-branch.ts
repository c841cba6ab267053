import type { Pipeline } from '@footlight/gst';
import { bitrateValue, type EncoderRow, type EncodeTarget, encodedCaps } from './encoders.ts';

/** Largest RTP packet that leaves the payloader, bytes: leaves room for our header extensions and SRTP. */
export const PAYLOAD_MTU = 1180;

/**
 * Encoder, parser and payloader of a row in gst-launch syntax, from raw video in the row's format to packets.
 * The encoder is named `encoder`, the payloader `payloader`.
 * @throws when the row has no payloader
 */
export function encodeBranch(row: EncoderRow, target: EncodeTarget): string {
  if (row.payloader === null) throw new Error(`no RTP payloader for ${row.codec}`);
  return [
    ...(row.upload === '' ? [] : [row.upload]),
    `${row.element(target.renderNode)} name=encoder`,
    encodedCaps(row, target.h264Profile),
    row.parser,
    `${row.payloader} name=payloader mtu=${PAYLOAD_MTU} pt=96 timestamp-offset=0 seqnum-offset=0`,
  ].join(' ! ');
}

/**
 * Sets what the row asks for. Properties that this version of the element lacks are left out, since plugins
 * differ from one GStreamer to the next; the probe has proved that the row works without them.
 */
export function configureEncoder(pipeline: Pipeline, row: EncoderRow, target: EncodeTarget): void {
  const encoder = pipeline.element('encoder');
  const properties = { ...row.properties(target), bitrate: bitrateValue(row, target.bitrateKbps) };
  for (const [name, value] of Object.entries(properties)) {
    if (encoder.hasProperty(name)) encoder.setProperty(name, value);
  }
}
