import { Readable } from 'node:stream';
import type { Server } from '../platform/http/server.ts';
import type { Recordings } from './service.ts';

/** Registers the routes of the flight recorder, for administrators and hosts. */
export function registerRecordingsRoutes(server: Server, recordings: Recordings): void {
  server.handle('admin.sessions.recordings.freeze', async ({ caller, params }) => ({
    status: 202,
    body: await recordings.freeze(params.id, caller.userId),
  }));

  server.handle('admin.sessions.recordings.list', async ({ params }) => ({
    status: 200,
    body: await recordings.list(params.id),
  }));

  server.handle('admin.sessions.recordings.download', async ({ caller, params, raw, reply }) => {
    const recording = await recordings.find(params.id, params.recording_id);
    const headers = (bytes: number) => ({
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="session-${params.id}-${params.recording_id}.mp4"`,
      'content-length': String(bytes),
    });
    // A HEAD request needs no bytes from the host.
    if (raw.method === 'HEAD')
      return { status: 200, raw: Readable.from([]), headers: headers(recording.bytes ?? 0) };
    const { body, bytes } = await recordings.download(recording, caller.userId, (cancel) => {
      if (reply.raw.destroyed) cancel();
      else reply.raw.once('close', cancel);
    });
    if (reply.raw.destroyed) body.destroy();
    else reply.raw.once('close', () => body.destroy());
    return { status: 200, raw: body, headers: headers(bytes) };
  });

  server.handle('agent.recordings.upload', async ({ node, params, body }) => {
    await recordings.upload(node.hostId, params.recording_id, body);
    return { status: 204 };
  });
}
