import { saidByServer } from '../../api/server-sentences.ts';
import { localeTag, msg } from '../../i18n/translate.ts';

/** Parts of the sentence of a verdict (control-plane/src/telemetry/verdict/reason.ts). */
export const VERDICT_CLAUSES = [
  msg('The network lost {packets} packets while the round trip took up to {ms} ms'),
  msg('The encoder took up to {ms} ms for a frame, and the host fell to {fps} fps'),
  msg('The host kept {fps} fps, but {samples} samples of the viewer show uneven frames'),
  msg('The page was hidden in this time, so how it showed the picture cannot be judged'),
  msg('No rule found a limit in this time'),
  msg('There are too few samples to judge: {host} of the host and {viewer} of the viewer'),
  msg('the packets went over TCP, where a lost packet delays all later ones'),
  msg('the packets went through a TURN server, which adds its round trip'),
  msg(
    'the packets went through a TURN server by TCP, which adds its round trip, and a lost packet delays all later ones',
  ),
  msg(
    'the packets went through a TURN server by TLS, which adds its round trip, and a lost packet delays all later ones',
  ),
  msg('the encoder stalled'),
  msg('the encoder stalled {n} times'),
  msg('the viewer rejected a part of the offer'),
  msg('the viewer rejected a part of the offer {n} times'),
  msg('the GPU driver reported an Xid error'),
  msg('the GPU driver reported an Xid error {n} times'),
  msg('the GPU reported a fault'),
  msg('the GPU reported a fault {n} times'),
] as const;

const DECIMAL = /\d+\.\d+/g;

/** The sentence of a verdict in the person's language, with the decimal sign of this language. */
export const verdictSentence = (reason: string): string =>
  `${reason
    .replace(/\.$/, '')
    .split('; ')
    .map((clause) => saidByServer(clause, VERDICT_CLAUSES))
    .join('; ')
    .replace(DECIMAL, (figure) => Number(figure).toLocaleString(localeTag()))}.`;
