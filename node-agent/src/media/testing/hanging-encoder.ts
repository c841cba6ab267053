import { ENCODERS } from '../encode/encoders.ts';
import { CODEC_ENCODERS } from './codec-encoders.ts';

/**
 * Importing this adds H.265 in software with an encoder that hangs, as a driver does that waits for its GPU: its
 * thread does not come back from the first picture, and capture goes on. H.264 stays as it is, since a worker warms
 * up with it. Nothing of the product imports this.
 */
const HANG_US = 600_000_000;

const row = CODEC_ENCODERS.find(({ codec }) => codec === 'h265');
if (row) ENCODERS.unshift({ ...row, upload: `identity sleep-time=${HANG_US}` });
