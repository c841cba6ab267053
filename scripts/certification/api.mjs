// Calls the API of one control plane. Uses only Node's own modules, because the command runs before anything is
// installed.
import http from 'node:http';
import https from 'node:https';

/** Time limit of a call, because measuring a cell takes up to 120 s. */
const ANSWER_LIMIT_MS = 180_000;

/** Thrown if the answer is not a success; the message comes from the service. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {string | null} [runId] the run that prevents another one; null: the service named none
   */
  constructor(status, message, runId = null) {
    super(message);
    this.status = status;
    this.runId = runId;
  }
}

/** @param {string} url */
export function isLoopback(url) {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
}

/**
 * @param {string} base  address of the control plane. The certificate is not verified if the address is loopback,
 * because it is then usually self-signed.
 */
export function apiClient(base) {
  const isTls = new URL(base).protocol === 'https:';
  if (!isTls && !isLoopback(base))
    throw new Error(`${base} is not encrypted, and a password goes over it; use https.`);
  const agent = isTls
    ? new https.Agent({ keepAlive: true, rejectUnauthorized: !isLoopback(base) })
    : new http.Agent({ keepAlive: true });
  /** @type {string | null} */
  let token = null;

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<any>} the body of a success
   * @throws {Refused}
   */
  function ask(method, path, body) {
    return new Promise((resolve, reject) => {
      const request = (isTls ? https : http).request(
        `${base}${path}`,
        {
          method,
          agent,
          headers: {
            ...(token !== null && { authorization: `Bearer ${token}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
        },
        (answer) => {
          /** @type {Buffer[]} */
          const parts = [];
          answer.on('data', (part) => parts.push(part));
          answer.on('error', reject);
          answer.on('end', () => {
            const status = answer.statusCode ?? 0;
            const said = parsed(Buffer.concat(parts).toString('utf8'));
            if (status < 300) resolve(said);
            else {
              const { message, run_id } = said?.error ?? {};
              reject(new Refused(status, message ?? `${method} ${path}: ${status}`, run_id));
            }
          });
        },
      );
      request.setTimeout(ANSWER_LIMIT_MS, () => request.destroy(new Error(`${base} did not answer.`)));
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  return {
    ask,
    /** @param {string} email @param {string} password */
    async signIn(email, password) {
      const { access_token, user } = await ask('POST', '/v1/auth/login', { email, password });
      if (user.role !== 'admin') throw new Error(`${email} is no administrator, who alone may certify.`);
      token = access_token;
    },
    async signOut() {
      if (token !== null) await ask('POST', '/v1/auth/logout').catch(() => undefined);
      agent.destroy();
    },
  };
}

/** @typedef {ReturnType<typeof apiClient>} Api */

/** @param {string} text */
function parsed(text) {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
