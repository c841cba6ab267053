/** The signaling protocol of a viewer: messages, limits, close codes, and one parser for each direction. */
import { createFrameParser, type ParsedFrame } from '../common.ts';
import { type BrowserMessage, browserMessages, type ServiceMessage, serviceMessages } from './messages.ts';

export * from './close-codes.ts';
export * from './messages.ts';

const parseBrowser = createFrameParser(browserMessages);
const parseService = createFrameParser(serviceMessages);

/** Reads one text frame that a page sent. Never throws; a malformed one closes the socket with 4400. */
export function parseBrowserFrame(frame: string): ParsedFrame<BrowserMessage> {
  return parseBrowser(frame);
}

/** Reads one text frame that the service sent. Never throws. */
export function parseServiceFrame(frame: string): ParsedFrame<ServiceMessage> {
  return parseService(frame);
}

/** Text of one message to the service. */
export function encodeBrowserFrame(message: BrowserMessage): string {
  return JSON.stringify(message);
}

/** Text of one message to a page. */
export function encodeServiceFrame(message: ServiceMessage): string {
  return JSON.stringify(message);
}
