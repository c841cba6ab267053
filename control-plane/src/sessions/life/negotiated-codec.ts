import { z } from 'zod';

/** What a viewer says it receives, in the words of the API. Pure; never throws. */

const SPELLINGS: Readonly<Record<string, string>> = {
  avc: 'h264',
  avc1: 'h264',
  hevc: 'h265',
  hvc1: 'h265',
  av01: 'av1',
};

/**
 * @param mimeType such as "video/H264"
 * @returns h264, h265, av1, or any other short name as it is; null when it is not usable
 */
export function codecOfMimeType(mimeType: string): string | null {
  const name = mimeType.toLowerCase().replace(/^video\//, '');
  const codec = SPELLINGS[name] ?? name;
  return /^[a-z0-9._-]{1,16}$/.test(codec) ? codec : null;
}

const answerApplied = z.object({
  m_lines: z.array(z.looseObject({ mid: z.string(), codec: z.string(), rejected: z.boolean() })).max(16),
});

/** Codec of the picture in an agent's event sdp.answer_applied; null when the viewer took none. */
export function answeredCodec(payload: unknown): string | null {
  const parsed = answerApplied.safeParse(payload);
  const video = parsed.success ? parsed.data.m_lines.find(({ mid }) => mid === 'video') : undefined;
  return video === undefined || video.rejected ? null : codecOfMimeType(video.codec);
}
