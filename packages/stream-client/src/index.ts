/**
 * The player: shows a session in a <video>, sends the person's input, and reports its progress as typed states. No
 * framework; one client is one page's view of one session.
 *
 * ```ts
 * const client = createStreamClient({
 *   video, surface,
 *   connectSignaling: async () => (await api('sessions.signalingToken', { params: { id } })).signaling,
 *   onState: (state) => render(state),
 * });
 * client.connect();
 * playButton.onclick = () => client.unmuteAudio();
 * // …
 * client.dispose();
 * ```
 *
 * States: idle → connecting → waiting → live ⇄ reconnecting → ended. A live picture survives the loss of the signaling
 * socket: the state stays live with signaling 'lost' until it is back. `ended` is final until connect(). Every refusal
 * that a retry cannot fix is a typed end reason; the client throws no exceptions into the page.
 */
export { createStreamClient } from './client.ts';
export { signalingUrl } from './media/socket.ts';
export * from './types.ts';
