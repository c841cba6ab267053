/** Converts codec names of SDP to the names of the API. Pure; never throws. */

import { z } from 'zod';

const SPELLINGS: Readonly<Record<string, string>> = {
  avc: 'h264',
  avc1: 'h264',
  hevc: 'h265',
  hvc1: 'h265',
  av01: 'av1',
};

/**
 * @param mimeType such as "video/H264"
 * @returns h264, h265, av1, or another short name unchanged; null when the name is unusable
 */
export function codecOfMimeType(mimeType: string): string | null {
  const name = mimeType.toLowerCase().replace(/^video\//, '');
  const codec = SPELLINGS[name] ?? name;
  return /^[a-z0-9._-]{1,16}$/.test(codec) ? codec : null;
}

/** The first usable name; null: no name is usable. */
export function firstCodec(mimeTypes: readonly string[]): string | null {
  for (const mimeType of mimeTypes) {
    const codec = codecOfMimeType(mimeType);
    if (codec !== null) return codec;
  }
  return null;
}

const answerApplied = z.object({
  m_lines: z.array(z.looseObject({ mid: z.string(), codec: z.string(), rejected: z.boolean() })).max(16),
});

/** Video codec in an agent's event sdp.answer_applied; null when the viewer accepted none. */
export function answeredCodec(payload: unknown): string | null {
  const parsed = answerApplied.safeParse(payload);
  const video = parsed.success ? parsed.data.m_lines.find(({ mid }) => mid === 'video') : undefined;
  return video === undefined || video.rejected ? null : codecOfMimeType(video.codec);
}
