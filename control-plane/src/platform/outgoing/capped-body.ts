/**
 * Reads a body up to a limit. It counts received bytes, and does not trust Content-Length.
 * @param tooLarge makes the error of a larger body
 */
export async function readCapped(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: (message: string) => Error,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    // An exception ends the loop, which cancels the rest of the body.
    if (total > maxBytes) throw tooLarge(`it is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
