/** Every operation that the service has to have is declared: one that is left out of the contract by mistake fails. */
import { describe, expect, test } from 'vitest';
import { type Operation, operations } from '../../protocol/src/rest/index.ts';

/** Path and methods, a line each: those of the specification. */
const PROMISED = `
/agent/ws GET
/health GET
/v1/admin/access-check GET
/v1/admin/activity GET
/v1/admin/apps GET
/v1/admin/apps/{id}/artwork DELETE GET PUT
/v1/admin/apps/{id}/artwork/search POST
/v1/admin/apps/{id}/artwork/upload POST
/v1/admin/apps/{id}/entitlements GET POST
/v1/admin/apps/{id}/entitlements/{entitlement_id} DELETE
/v1/admin/apps/{id}/library/rules GET
/v1/admin/apps/{id}/library/rules/{external_id} DELETE PUT
/v1/admin/apps/{id}/library/unpublished GET
/v1/admin/artwork/reresolve POST
/v1/admin/config/catalog GET
/v1/admin/hosts/{id}/console-config GET PATCH
/v1/admin/hosts/{id}/encoder-certification GET
/v1/admin/hosts/{id}/encoder-certification/cells POST
/v1/admin/hosts/{id}/encoder-certification/cells/{session_id}/finalize POST
/v1/admin/hosts/{id}/encoder-certification/runs POST
/v1/admin/hosts/{id}/encoder-certification/runs/{run_id} GET
/v1/admin/hosts/{id}/encoder-certification/runs/{run_id}/complete POST
/v1/admin/hosts/{id}/restart POST
/v1/admin/hosts/{id}/settings GET PATCH
/v1/admin/images GET
/v1/admin/images/sync POST
/v1/admin/images/{id}/install DELETE POST
/v1/admin/images/{id}/pin DELETE POST
/v1/admin/images/{id}/update POST
/v1/admin/invites GET POST
/v1/admin/invites/{id} DELETE
/v1/admin/jobs GET
/v1/admin/jobs/{job_id} GET PATCH
/v1/admin/jobs/{job_id}/run POST
/v1/admin/jobs/{job_id}/runs GET
/v1/admin/launch-profiles GET POST
/v1/admin/launch-profiles/{id} DELETE GET PATCH
/v1/admin/library-providers/{provider}/entitlement-mode POST
/v1/admin/library/scan POST
/v1/admin/library/status GET
/v1/admin/profile-policy GET PATCH
/v1/admin/runtime-presets GET POST
/v1/admin/runtime-presets/{id} DELETE GET PATCH
/v1/admin/secrets GET
/v1/admin/secrets/{name} DELETE PUT
/v1/admin/sessions GET
/v1/admin/sessions/{id}/capture POST
/v1/admin/sessions/{id}/captures/{capture_id} GET
/v1/admin/sessions/{id}/diagnostic-bundle GET
/v1/admin/sessions/{id}/metrics GET
/v1/admin/sessions/{id}/trace GET
/v1/admin/sessions/{id}/trace/annotations POST
/v1/admin/sessions/{id}/trace/events GET
/v1/admin/sessions/{id}/trace/metrics GET
/v1/admin/sessions/{id}/trace/window GET
/v1/admin/sessions/{id}/verdict GET
/v1/admin/settings GET PATCH
/v1/admin/storage/homes GET
/v1/admin/storage/homes/{id} DELETE
/v1/admin/stream-profiles GET POST
/v1/admin/stream-profiles/{id} DELETE PATCH
/v1/admin/users/{id}/entitlements GET
/v1/agent/jobs/pending GET
/v1/agent/jobs/report POST
/v1/agent/library/scan-pending GET
/v1/agent/library/scan-report POST
/v1/agent/storage/gc-confirm POST
/v1/agent/storage/gc-pending GET
/v1/apps GET POST
/v1/apps/{id} DELETE GET PATCH
/v1/artwork/{asset} GET
/v1/auth/login POST
/v1/auth/logout POST
/v1/auth/register POST
/v1/dev/agent-session POST
/v1/hosts GET
/v1/hosts/{id} DELETE GET
/v1/hosts/{id}/drain POST
/v1/hosts/{id}/gpus GET
/v1/hosts/{id}/uncordon POST
/v1/me GET
/v1/me/devices GET POST
/v1/me/devices/{id} DELETE PATCH
/v1/me/favourites/{app_id} DELETE PUT
/v1/me/highlights GET
/v1/me/password POST
/v1/me/profile-preferences GET PATCH
/v1/me/profiles GET
/v1/me/storage GET
/v1/me/ui-preferences GET PATCH
/v1/sessions GET POST
/v1/sessions/{id} DELETE GET
/v1/sessions/{id}/display PATCH
/v1/sessions/{id}/events GET
/v1/sessions/{id}/signaling-token POST
/v1/sessions/{id}/stats POST
/v1/sessions/{id}/swap POST
/v1/sessions/{id}/trace/clock POST
/v1/sessions/{id}/trace/events POST
/v1/sessions/{id}/verdict GET
/v1/setup/claim POST
/v1/setup/complete POST
/v1/setup/status GET
/v1/signal GET
/v1/tls/certificate.pem GET
/v1/users GET
/v1/users/{id} DELETE PATCH
`;

/** The same for operations that the HTTP contract adds to the specification. */
const ADDED = `
/v1/admin/hosts/{id}/encoder-certification/concurrency GET PUT
/v1/admin/sessions/{id}/recordings GET POST
/v1/admin/sessions/{id}/recordings/{recording_id} GET
/v1/agent/recordings/{recording_id} PUT
`;

/** @returns `METHOD path` of each line */
const routesOf = (lines: string): string[] =>
  lines
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [path, ...methods] = line.split(' ');
      return methods.map((method) => `${method} ${path}`);
    });

const declared = new Set(
  (Object.values(operations) as Operation[]).map(({ method, path }) => `${method} ${path}`),
);
const wanted = [PROMISED, ADDED].flatMap(routesOf);

describe('operations that the service is to have', () => {
  test.each(wanted)('%s is declared', (route) => {
    expect(declared).toContain(route);
  });
});
