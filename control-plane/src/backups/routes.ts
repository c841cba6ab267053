import { Readable } from 'node:stream';
import type { Server } from '../platform/http/server.ts';
import type { Backups } from './service.ts';

/** Registers the routes of backups, for administrators. */
export function registerBackupRoutes(server: Server, backups: Backups): void {
  server.handle('admin.backups.list', async () => ({ status: 200, body: await backups.list() }));

  server.handle('admin.backups.create', async ({ caller }) => ({
    status: 202,
    body: await backups.create(caller),
  }));

  server.handle('admin.backups.download', async ({ caller, params: { name }, raw, reply }) => {
    const { file, bytes } = await backups.open(name);
    const headers = {
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="${name}"`,
      'content-length': String(bytes),
    };
    if (raw.method === 'HEAD') {
      await file.close();
      return { status: 200, raw: Readable.from([]), headers };
    }
    try {
      // A backup contains hashes of passwords and tokens, so the log says who got it.
      await backups.downloaded(caller, name);
    } catch (error) {
      await file.close();
      throw error;
    }
    // Exactly the announced bytes, although the file could grow. The stream closes the file.
    const body = bytes === 0 ? Readable.from([]) : file.createReadStream({ end: bytes - 1 });
    if (bytes === 0) await file.close();
    if (reply.raw.destroyed) body.destroy();
    else reply.raw.once('close', () => body.destroy());
    return { status: 200, raw: body, headers };
  });

  server.handle('admin.backups.delete', async ({ caller, params }) => {
    await backups.remove(caller, params.name);
    return { status: 204 };
  });
}
