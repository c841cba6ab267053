import { createHash } from 'node:crypto';
import type { JobReport } from '@footlight/protocol/agent';
import { type Answer, addHost, type TestApp } from '../../testing/index.ts';

/** A host whose agent calls the service over HTTP, without a WebSocket. */
export interface CallingHost {
  readonly id: string;
  /** Boot id that the next calls send; null: they send none. */
  bootId: string | null;
  pending(): Promise<Answer>;
  report(report: Partial<JobReport> & { run_id: string }): Promise<Answer>;
  /** Calls any route with the host's credential, or with the given secret. */
  call(method: string, url: string, body?: unknown, secret?: string): Promise<Answer>;
}

export async function addCallingHost(app: TestApp, name: string): Promise<CallingHost> {
  const { database, random } = app.plane.platform;
  const id = await addHost(app, name);
  const secret = random.bytes(32).toString('base64url');
  await database.db
    .updateTable('hosts')
    .set({ secret_hash: createHash('sha256').update(secret).digest('hex') })
    .where('id', '=', id)
    .execute();
  const host: CallingHost = {
    id,
    bootId: random.uuid(),
    pending: () => host.call('GET', '/v1/agent/jobs/pending'),
    report: (report) => host.call('POST', '/v1/agent/jobs/report', { state: 'succeeded', ...report }),
    call: (method, url, body, given = secret) =>
      app.call(null, method, url, {
        headers: {
          authorization: `Bearer ${given}`,
          'x-service-node': name,
          ...(host.bootId !== null && { 'x-service-boot': host.bootId }),
        },
        ...(body !== undefined && { body }),
      }),
  };
  return host;
}
