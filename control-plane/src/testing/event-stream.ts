import type { Person } from './app.ts';

/** A page that follows a session over the wire. */
export interface OpenStream {
  /** Resolves with everything that was sent, once the server has ended it. */
  readonly ended: Promise<string>;
}

/** Opens the event stream of a session, and waits for its first event. @param origin of a listening service */
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
