import type { Server } from '../platform/http/server.ts';
import type { JobsService } from './service.ts';

/** Registers the routes of jobs, for administrators and hosts. */
export function registerJobsRoutes(server: Server, { admin, agents }: JobsService): void {
  server.handle('admin.jobs.list', async ({ query }) => ({ status: 200, body: await admin.list(query) }));

  server.handle('admin.jobs.read', async ({ params }) => ({
    status: 200,
    body: await admin.read(params.job_id),
  }));

  server.handle(
    'admin.jobs.update',
    async ({ caller, params, body }) => ({
      status: 200,
      body: await admin.update(caller, params.job_id, body),
    }),
    { early: async ({ params }) => void (await admin.requireManaged(params.job_id)) },
  );

  server.handle(
    'admin.jobs.run',
    async ({ caller, params, body }) => ({
      status: 202,
      body: await admin.run(caller, params.job_id, body.host_id ?? null),
    }),
    { early: async ({ params }) => void (await admin.requireJob(params.job_id)) },
  );

  server.handle('admin.jobs.runs', async ({ params, query }) => ({
    status: 200,
    body: await admin.runs(params.job_id, query),
  }));

  server.handle('agent.jobs.pending', async ({ node }) => ({
    status: 200,
    body: await agents.pending(node),
  }));

  server.handle('agent.jobs.report', async ({ node, body }) => {
    await agents.report(node, body);
    return { status: 200, body: { ok: true as const } };
  });
}
