import type { Server } from '../platform/http/server.ts';
import type { WebhookService } from './service.ts';

/** @param webhook null: no webhook is configured */
export function registerWebhookRoutes(server: Server, webhook: WebhookService | null): void {
  server.handle('admin.webhook.status', async () => ({
    status: 200,
    body: (await webhook?.status()) ?? { configured: false, waiting: 0, oldest_at: null },
  }));
}
