// The command line of scripts/certify. Pure.
import { parseArgs } from 'node:util';

export const ENCODERS = ['va', 'nvenc', 'openh264', 'vulkan'];

export const usage = `Usage: scripts/certify --host NAME|ID --email EMAIL [--profiles A,B] [--bitrates N,N]
                       [--gpu N] [--encoder FAMILY] [--dwell SECONDS] [--record FILE] [--url URL]
       scripts/certify --host NAME|ID --email EMAIL --concurrency [--profiles A] [--bitrates N]
                       [--most N] …

Measures which load the encoders of a host sustain. Each cell is one rung at one bitrate: a session without a viewer
that runs for 25 s. After the verdict 'unsafe', the higher bitrates of that rung are left out. The verdicts are stored;
a launch steps down from a rung whose verdict is 'unsafe'. Ctrl-C stops the current cell; the same command then measures
the remaining cells.

  --host NAME|ID     the host, which must be online; nothing else should run on it
  --email EMAIL      an administrator; the password is read from FOOTLIGHT_PASSWORD or the terminal
  --profiles A,B     launch profiles, all rungs of each, or rungs (1080p60,720p60,720p30)
  --bitrates N,N     kbit/s (4000,6000,8000,12000)
  --gpu N            index of the GPU, from 0 (0)
  --encoder FAMILY   ${ENCODERS.join(', ')} (the one that the host uses)
  --dwell SECONDS    how long each cell measures, 8 to 120 (25)
  --concurrency      raises the number of concurrent sessions until one is too slow, and stores the curve; uses the
                     first H.264 rung of the first profile and the first bitrate (720p60, 6000)
  --most N           largest number of concurrent sessions, 1 to 64 (16)
  --record FILE      file with which an interrupted run is continued (certify-HOST.json)
  --url URL          of the control plane's HTTPS port, by default that of scripts/up on this machine
`;

/**
 * @typedef {object} Options
 * @property {string} host
 * @property {string} email
 * @property {string | null} url      null: scripts/up on this machine
 * @property {string[]} profiles
 * @property {number[]} bitrates      kbit/s
 * @property {number} gpu
 * @property {string | null} encoder  null: the one that the host uses
 * @property {number} dwellMs
 * @property {boolean} concurrency
 * @property {number} most            sessions at once
 * @property {string | null} record   null: named after the host
 */

/** @param {string[]} words @returns {Options} @throws Error with a sentence */
export function readOptions(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      host: { type: 'string' },
      email: { type: 'string' },
      url: { type: 'string' },
      profiles: { type: 'string' },
      bitrates: { type: 'string' },
      gpu: { type: 'string', default: '0' },
      encoder: { type: 'string' },
      dwell: { type: 'string', default: '25' },
      concurrency: { type: 'boolean', default: false },
      most: { type: 'string', default: '16' },
      record: { type: 'string' },
    },
  });
  const { concurrency } = values;
  if (!values.host) throw new Error('Name the host: --host NAME or its id.');
  if (!values.email) throw new Error('Name an administrator: --email EMAIL.');
  if (values.encoder !== undefined && !ENCODERS.includes(values.encoder))
    throw new Error(`--encoder is '${values.encoder}'; there are ${ENCODERS.join(', ')}.`);
  const profiles = listOf(values.profiles ?? (concurrency ? '720p60' : '1080p60,720p60,720p30'));
  const bitrates = listOf(values.bitrates ?? (concurrency ? '6000' : '4000,6000,8000,12000'));
  if (profiles.length === 0) throw new Error('--profiles names none.');
  if (bitrates.length === 0) throw new Error('--bitrates names none.');
  return {
    host: values.host,
    email: values.email,
    url: values.url?.replace(/\/+$/, '') ?? null,
    profiles,
    bitrates: bitrates.map((text) => count('--bitrates', text, 1, 500_000)),
    gpu: count('--gpu', values.gpu, 0, 15),
    encoder: values.encoder ?? null,
    dwellMs: 1000 * count('--dwell', values.dwell, 8, 120),
    concurrency,
    most: count('--most', values.most, 1, 64),
    record: values.record ?? null,
  };
}

/** @param {string} text */
const listOf = (text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** @param {string} option @param {string} text @param {number} least @param {number} most */
function count(option, text, least, most) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most)
    throw new Error(`${option} is '${text}'; expected a whole number from ${least} to ${most}.`);
  return value;
}
