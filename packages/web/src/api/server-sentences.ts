import { msg, t } from '../i18n/translate.ts';

/**
 * Sentences of the server that people read: reasons about a quality, reasons of a refusal, and the limit of a session.
 */
export const SENTENCES = [
  msg('Measured {measured} kbit/s; at least {needed} are needed.'),
  msg('Measured {measured} kbit/s; {recommended} are recommended.'),
  msg('Measured a round trip of {measured} ms; at most {most} ms are allowed.'),
  msg('This device decodes {lines} lines; {needed} are needed.'),
  msg('This device does not decode {codec}.'),
  msg('The host does not encode {codec}.'),
  msg('Browsers often cannot keep up with this quality.'),
  msg('It is not known whether the display shows {fps} pictures per second.'),
  msg('The display shows only {hz} of {fps} pictures per second.'),
  msg('The decoders and the connection of this device have not been measured yet.'),
  msg('This device could not keep up with it in the last 30 days.'),
  msg('The recommendation is limited to what the machines of this server can encode.'),
  msg("The recommendation is limited to the app's own picture size, frame rate and bitrate."),
  msg('The connection to this device lost data and answered slowly.'),
  msg(
    'Use a cable or move closer to the Wi-Fi, pause other downloads, or choose a quality with a lower bitrate.',
  ),
  msg('The machine that ran the app could not make the picture fast enough.'),
  msg('Choose a lower quality. If it happens again, tell an administrator.'),
  msg('The picture arrived in time, but this device showed it unevenly.'),
  msg(
    'Close other programs and tabs, turn on hardware acceleration in the browser, or choose another quality.',
  ),
  msg('The page was hidden for a part of the time, so its picture cannot be judged.'),
  msg('Too little was measured to judge it.'),
  msg('It was too short to judge.'),
  msg('Not all of it was smooth, and no single cause was found.'),
  msg('Tell an administrator at what time it happened. The measurements are stored only for a while.'),
  msg('The picture was smooth.'),
] as const;

const PLACE = /\{(\w+)\}/g;

/**
 * Translates a sentence of the server into the person's language. An unknown sentence is returned unchanged.
 * @param sentences the sentences that are known; a placeholder stands for any text, so sentences that consist mostly
 *   of placeholders come last
 */
export function saidByServer(text: string, sentences: readonly string[] = SENTENCES): string {
  for (const sentence of sentences) {
    const found = patternOf(sentence).exec(text);
    if (found !== null) return t(sentence, { ...found.groups });
  }
  return text;
}

/** Patterns by sentence, made at the first use; as many as the sources have sentences. */
const patterns = new Map<string, RegExp>();

function patternOf(sentence: string): RegExp {
  const known = patterns.get(sentence);
  if (known !== undefined) return known;
  const pieces = sentence
    .split(PLACE)
    .map((piece, index) =>
      index % 2 === 1 ? `(?<${piece}>.+?)` : piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    );
  const pattern = new RegExp(`^${pieces.join('')}$`);
  patterns.set(sentence, pattern);
  return pattern;
}
