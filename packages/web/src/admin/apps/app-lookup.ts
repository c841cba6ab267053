import { call } from '../../api/client.ts';
import type { Pick } from '../frame/pick-dialog.tsx';

const MATCHES = 20;

/** Apps whose name holds the text, switched-off ones among them, for a dialog that picks one. */
export async function pickApps(text: string, signal: AbortSignal): Promise<Pick[]> {
  const { items } = await call('admin.apps.list', { query: { q: text, limit: MATCHES }, signal });
  return items.map(({ id, name, enabled }) => ({ id, name, hint: enabled ? '' : 'Switched off' }));
}
