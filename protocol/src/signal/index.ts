/** The signaling protocol of a viewer: messages, limits, close codes, and one parser for each direction. */
import { createFrameParser, createFrameReader, type ParsedFrame, textToRelay } from '../common.ts';
import { type BrowserMessage, browserToService, type ServiceMessage, serviceToBrowser } from './messages.ts';

export * from './close-codes.ts';
export * from './messages.ts';

const readBrowser = createFrameReader(browserToService);
/**
 * Reads one text frame that a page sent. Never throws. After a malformed frame, the service closes the socket with
 * 4400.
 */
export const parseBrowserFrame = createFrameParser(browserToService);
/** Reads one text frame that the service sent. Never throws. */
export const parseServiceFrame = createFrameParser(serviceToBrowser);

/** A page's message, with its text for the host. */
export type RelayedFrame =
  | { kind: 'message'; message: BrowserMessage; text: string }
  | Exclude<ParsedFrame<BrowserMessage>, { kind: 'message' }>;

/** Like `parseBrowserFrame`, but also returns the text for the relay. */
export function relayBrowserFrame(frame: string): RelayedFrame {
  const read = readBrowser(frame);
  if (read.kind !== 'message') return read;
  return { kind: 'message', message: read.message, text: textToRelay(frame, read.value, read.message) };
}

/** Text of one message to the service. */
export function encodeBrowserFrame(message: BrowserMessage): string {
  return JSON.stringify(message);
}

/** Text of one message to a page. */
export function encodeServiceFrame(message: ServiceMessage): string {
  return JSON.stringify(message);
}
