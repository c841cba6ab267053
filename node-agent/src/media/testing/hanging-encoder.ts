import { ENCODERS } from '../encode/encoders.ts';
import { CODEC_ENCODERS } from './codec-encoders.ts';

/**
 * Importing this module adds an H.265 software encoder that hangs like a driver that waits for its GPU: its thread
 * never returns from the first picture, while the capture continues. The H.264 encoder is unchanged, because a worker
 * uses it to warm up. The product does not import this module.
 */
const HANG_US = 600_000_000;

const row = CODEC_ENCODERS.find(({ codec }) => codec === 'h265');
if (row) ENCODERS.unshift({ ...row, upload: `identity sleep-time=${HANG_US}` });
