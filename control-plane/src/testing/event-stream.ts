import type { Person } from './app.ts';

/** An open event stream of a session, like the one of a page. */
export interface OpenStream {
  /** Resolves with the whole text after the server has ended the stream. */
  readonly ended: Promise<string>;
}

/** Opens a session's event stream and waits for the first event. @param origin base URL of a listening service */
export async function openEventStream(origin: string, as: Person, sessionId: string): Promise<OpenStream> {
  const response = await fetch(`${origin}/v1/sessions/${sessionId}/events`, {
    headers: { authorization: `Bearer ${as.token}` },
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`no stream: ${response.status} ${await response.text()}`);
  const chunks = response.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let text = '';
  while (!text.includes('event: session')) {
    const { done, value } = await chunks.next();
    if (done === true) throw new Error(`the stream ended before its first event: ${text}`);
    text += value;
  }
  const readOn = async (): Promise<string> => {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) text += next.value;
    return text;
  };
  return { ended: readOn() };
}
