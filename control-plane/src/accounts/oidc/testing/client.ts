import type { Server } from 'node:http';

/** How the tests' control planes are known to their providers. */
export const CLIENT = { client_id: 'footlight', client_secret: 'a-secret-of-the-client-0001' };
export const BASE_URL = 'https://footlight.example';
export const SCOPES = 'openid email profile groups';

/** Variables of a control plane that uses the provider at this issuer. */
export const oidcEnv = (issuer: string): Record<string, string> => ({
  SERVICE_OIDC_ISSUER: issuer,
  SERVICE_OIDC_CLIENT_ID: CLIENT.client_id,
  SERVICE_OIDC_CLIENT_SECRET: CLIENT.client_secret,
  SERVICE_OIDC_SCOPES: SCOPES,
  PUBLIC_BASE_URL: BASE_URL,
});

export function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
