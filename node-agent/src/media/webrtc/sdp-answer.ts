/** Parses and checks a viewer's answer before it is passed to the WebRTC library. Pure; never throws. */

import { hasControls } from './candidates.ts';
import { EXTENSION_ID, EXTENSION_URI, type ExtensionName } from './rtp-extensions.ts';

export interface AnsweredLine {
  mid: string;
  kind: string;
  /** Name of the first codec; "": the line has no codec. */
  codec: string;
  port: number;
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';
  rejected: boolean;
  extensions: ReadonlySet<ExtensionName>;
}

export type AnswerReading =
  | {
      kind: 'answer';
      lines: AnsweredLine[];
      /** The answer without candidate and end-of-candidates lines. */
      sdp: string;
      /** The removed candidate lines, as in a candidate message. */
      candidates: string[];
    }
  | { kind: 'unreadable'; why: string };

export type AnswerVerdict =
  | {
      kind: 'apply';
      lines: AnsweredLine[];
      /** The answer, as it is passed to the library. */
      sdp: string;
      /** Candidates in the answer, which must be checked separately. */
      candidates: string[];
      /** Header extensions that the viewer accepts. */
      video: ReadonlySet<ExtensionName>;
      /** null: the viewer refuses sound. */
      audio: ReadonlySet<ExtensionName> | null;
    }
  /** The viewer refuses the picture, which is not allowed. */
  | { kind: 'no_video'; lines: AnsweredLine[] }
  | { kind: 'refuse'; cause: 'parse' | 'rejected'; why: string };

const MEDIA_LINE = /^m=([a-z]+) (\d{1,5})(?:\/\d+)? \S+ ?(.*)$/;
const DIRECTIONS = new Set(['sendrecv', 'sendonly', 'recvonly', 'inactive']);
/**
 * Largest number of lines in an answer. An offer has about 100 lines; an answer of 64 KiB could have about 20,000 short
 * lines.
 */
const MAX_LINES = 2000;

/**
 * Decides whether an answer is accepted. The viewer may refuse sound and microphone, but not the picture.
 * @param codec name of the codec in the offer, in capitals; only this codec is offered and sent
 */
export function judgeAnswer(sdp: string, codec: string): AnswerVerdict {
  const reading = readAnswer(sdp);
  if (reading.kind === 'unreadable') return { kind: 'refuse', cause: 'parse', why: reading.why };
  const { lines, candidates } = reading;
  const video = lines.find((line) => line.mid === 'video');
  if (!video) return { kind: 'refuse', cause: 'rejected', why: 'no video line' };
  if (video.rejected) return { kind: 'no_video', lines };
  if (video.codec.toUpperCase() !== codec) {
    const why = `the answer takes ${video.codec || 'no codec'} where ${codec} was offered`;
    return { kind: 'refuse', cause: 'rejected', why };
  }
  const audio = lines.find((line) => line.mid === 'audio' && !line.rejected)?.extensions ?? null;
  return { kind: 'apply', lines, sdp: reading.sdp, candidates, video: video.extensions, audio };
}

export function readAnswer(sdp: string): AnswerReading {
  const all = sdp.split(/\r?\n/);
  if (all.length > MAX_LINES) return { kind: 'unreadable', why: 'too many lines' };
  // The library splits the text at line feeds, but its ICE agent drops carriage returns. So `a=\rcandidate:` would
  // bypass the candidate check.
  if (all.some(hasControls)) return { kind: 'unreadable', why: 'a control character' };
  if (all[0] !== 'v=0') return { kind: 'unreadable', why: 'no version line' };
  const kept: string[] = [];
  const candidates: string[] = [];
  const lines: MutableLine[] = [];
  let current: MutableLine | null = null;
  for (const line of all) {
    if (line.startsWith('a=candidate:')) {
      candidates.push(line.slice('a='.length));
      continue;
    }
    if (line === 'a=end-of-candidates') continue;
    kept.push(line);
    if (line.startsWith('m=')) {
      current = openLine(line);
      if (!current) return { kind: 'unreadable', why: 'bad m-line' };
      lines.push(current);
    } else if (current && line.startsWith('a=')) {
      readAttribute(current, line.slice('a='.length));
    }
  }
  if (lines.length === 0) return { kind: 'unreadable', why: 'no m-line' };
  for (const line of lines) line.rejected = line.port === 0 || line.direction === 'inactive';
  return { kind: 'answer', lines, sdp: kept.join('\r\n'), candidates };
}

interface MutableLine extends AnsweredLine {
  firstPayloadType: string;
  extensions: Set<ExtensionName>;
}

function openLine(line: string): MutableLine | null {
  const match = MEDIA_LINE.exec(line);
  if (!match) return null;
  return {
    mid: '',
    kind: match[1] ?? '',
    codec: '',
    port: Number(match[2]),
    direction: 'sendrecv',
    rejected: false,
    extensions: new Set(),
    firstPayloadType: (match[3] ?? '').split(' ')[0] ?? '',
  };
}

function readAttribute(line: MutableLine, attribute: string): void {
  if (attribute.startsWith('mid:')) line.mid = attribute.slice('mid:'.length);
  else if (DIRECTIONS.has(attribute)) line.direction = attribute as AnsweredLine['direction'];
  else if (attribute.startsWith(`rtpmap:${line.firstPayloadType} `)) {
    line.codec = (attribute.split(' ')[1] ?? '').split('/')[0] ?? '';
  } else if (attribute.startsWith('extmap:')) {
    const match = /^extmap:(\d{1,3})(?:\/[a-z]+)? (\S+)/.exec(attribute);
    const name = match ? extensionNamed(Number(match[1]), match[2] ?? '') : null;
    if (name) line.extensions.add(name);
  }
}

/** An extension is accepted only with the id that was offered for it. */
function extensionNamed(id: number, uri: string): ExtensionName | null {
  for (const name of Object.keys(EXTENSION_URI) as ExtensionName[]) {
    if (EXTENSION_URI[name] === uri && EXTENSION_ID[name] === id) return name;
  }
  return null;
}
