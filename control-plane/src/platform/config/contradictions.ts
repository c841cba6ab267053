import { isLoopbackHost } from '../http/origin/origins.ts';
import { isDevAgentAuthOn, type Values } from './variables.ts';

/**
 * Shortest lifetime of TURN credentials in seconds. They must not expire while a viewer connects, which takes at most
 * two steps of 20 s (NEGOTIATION_STEP_TIMEOUT_MS).
 */
const MIN_TURN_SECS = 60;

/**
 * Messages about set variables that conflict with each other, each with the variable to change. Pure.
 * @param telemetry the retention of telemetry, with defaults
 */
export function contradictions(
  values: Values,
  { rollingMs, postmortemMs }: { rollingMs: number; postmortemMs: number },
): string[] {
  const problems: string[] = [];
  if ((values.SERVICE_TLS_CERT === undefined) !== (values.SERVICE_TLS_KEY === undefined)) {
    const missing = values.SERVICE_TLS_CERT === undefined ? 'SERVICE_TLS_CERT' : 'SERVICE_TLS_KEY';
    problems.push(`${missing}: expected together with its other half; set both or neither`);
  }
  const { SERVICE_BUS_URL: bus, DATABASE_URL: database } = values;
  if (values.SERVICE_ACME_HOSTS === undefined) {
    for (const name of ['SERVICE_ACME_EMAIL', 'SERVICE_ACME_CA_FILE'] as const)
      if (values[name] !== undefined) problems.push(`${name}: expected together with SERVICE_ACME_HOSTS`);
  } else {
    const unneeded =
      values.SERVICE_TLS === 'off'
        ? 'SERVICE_TLS is off'
        : values.SERVICE_TLS_CERT !== undefined
          ? 'SERVICE_TLS_CERT names your own certificate'
          : bus !== undefined
            ? 'with several control planes the load balancer needs the certificate'
            : null;
    if (unneeded !== null) problems.push(`SERVICE_ACME_HOSTS: expected unset, because ${unneeded}`);
  }
  if (bus !== undefined && database?.dialect !== 'postgres') {
    problems.push(
      'SERVICE_BUS_URL: expected unset, because a SQLite file belongs to one control plane; replicas share a Postgres (DATABASE_URL=postgres://…)',
    );
  }
  for (const name of ['SERVICE_BUS_NKEY_FILE', 'SERVICE_BUS_CA_FILE'] as const)
    if (bus === undefined && values[name] !== undefined)
      problems.push(`${name}: expected together with SERVICE_BUS_URL`);
  if (values.SERVICE_BUS_NKEY_FILE !== undefined && bus !== undefined && bus.auth !== null)
    problems.push('SERVICE_BUS_NKEY_FILE: expected unset, because SERVICE_BUS_URL has credentials');
  if (values.SERVICE_BUS_CA_FILE !== undefined && bus?.tls === false)
    problems.push('SERVICE_BUS_CA_FILE: expected unset, because SERVICE_BUS_URL uses no TLS (tls://…)');
  const previousKeys = values.SERVICE_SECRET_KEY_PREVIOUS ?? [];
  const currentVersion = values.SERVICE_SECRET_KEY?.version;
  if (previousKeys.length > 0 && currentVersion === undefined) {
    problems.push('SERVICE_SECRET_KEY: expected a value, because SERVICE_SECRET_KEY_PREVIOUS is set');
  }
  if (previousKeys.some(({ version }) => version === currentVersion)) {
    problems.push(
      `SERVICE_SECRET_KEY_PREVIOUS: expected other versions than ${currentVersion}, the one of SERVICE_SECRET_KEY`,
    );
  }
  const { SERVICE_METRICS_ADDR: metrics, SERVICE_METRICS_TOKEN: metricsToken } = values;
  if (metrics !== undefined && metricsToken === undefined && !isLoopbackHost(metrics.host ?? '')) {
    problems.push(
      'SERVICE_METRICS_ADDR: expected a loopback address such as 127.0.0.1:9100, or SERVICE_METRICS_TOKEN beside it',
    );
  }
  if (metrics === undefined && metricsToken !== undefined)
    problems.push('SERVICE_METRICS_TOKEN: expected together with SERVICE_METRICS_ADDR');
  const { SERVICE_TURN_URLS: turnUrls, SERVICE_TURN_SECRET: turnSecret } = values;
  if (turnUrls !== undefined && turnSecret === undefined)
    problems.push('SERVICE_TURN_SECRET: expected a value, because SERVICE_TURN_URLS is set');
  if (turnUrls === undefined && turnSecret !== undefined)
    problems.push('SERVICE_TURN_URLS: expected a value, because SERVICE_TURN_SECRET is set');
  const { SERVICE_WEBHOOK_URL: webhookUrl, SERVICE_WEBHOOK_SECRET: webhookSecret } = values;
  if ((webhookUrl === undefined) !== (webhookSecret === undefined)) {
    const missing = webhookUrl === undefined ? 'SERVICE_WEBHOOK_URL' : 'SERVICE_WEBHOOK_SECRET';
    problems.push(`${missing}: expected together with its other half; set both or neither`);
  }
  const graceSecs = values.SERVICE_SESSION_GRACE_SECS ?? MIN_TURN_SECS;
  if (turnUrls !== undefined && graceSecs < MIN_TURN_SECS)
    problems.push(
      `SERVICE_SESSION_GRACE_SECS: expected at least ${MIN_TURN_SECS}, because TURN credentials (SERVICE_TURN_URLS) are valid for this time`,
    );
  const bootstrap = [
    'BOOTSTRAP_ADMIN_EMAIL',
    'BOOTSTRAP_ADMIN_USERNAME',
    'BOOTSTRAP_ADMIN_PASSWORD',
  ] as const;
  const unset = bootstrap.filter((name) => values[name] === undefined);
  if (unset.length > 0 && unset.length < bootstrap.length) {
    problems.push(
      ...unset.map((name) => `${name}: expected a value, because another BOOTSTRAP_ADMIN_ variable is set`),
    );
  }
  problems.push(...oidcContradictions(values));
  if (postmortemMs < rollingMs) {
    problems.push(
      'SERVICE_TELEMETRY_POSTMORTEM_RETENTION: expected at least SERVICE_TELEMETRY_ROLLING_WINDOW',
    );
  }
  if (isDevAgentAuthOn(values) && values.SERVICE_ENV?.toLowerCase() === 'production') {
    problems.push('SERVICE_DEV_AGENT_AUTH: expected unset, because SERVICE_ENV is production');
  }
  return problems;
}

/** The variables that sign-in with a provider needs. */
const OIDC_NEEDS = [
  'SERVICE_OIDC_ISSUER',
  'SERVICE_OIDC_CLIENT_ID',
  'SERVICE_OIDC_CLIENT_SECRET',
  'PUBLIC_BASE_URL',
] as const;
function oidcContradictions(values: Values): string[] {
  const [issuer, clientId, clientSecret] = OIDC_NEEDS;
  const given = [issuer, clientId, clientSecret, 'SERVICE_OIDC_ADMIN_GROUP' as const].find(
    (name) => values[name] !== undefined,
  );
  if (given === undefined) return [];
  return OIDC_NEEDS.filter((name) => values[name] === undefined).map((name) =>
    name === 'PUBLIC_BASE_URL'
      ? `${name}: expected a value, because the identity provider sends browsers back to this address (${given} is set)`
      : `${name}: expected a value, because ${given} is set`,
  );
}
