import { fetch, Agent as HttpAgent } from 'undici';

export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the server's actual response
  readonly body: any;
}

export interface ApiCall {
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls the API of one control plane without verifying its certificate. Owns its connections until `close`. */
export class ApiClient {
  readonly url: string;
  readonly #dispatcher = new HttpAgent({ connect: { rejectUnauthorized: false } });

  /** @param url base URL of the control plane's HTTPS port */
  constructor(url: string) {
    this.url = url;
  }

  async call(method: string, path: string, { token, body, headers }: ApiCall = {}): Promise<ApiAnswer> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      dispatcher: this.#dispatcher,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  }

  /** Returns the body of a successful answer. @throws Error with the answer for every other status */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  async ask(method: string, path: string, options?: ApiCall): Promise<any> {
    const { status, body } = await this.call(method, path, options);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  close(): Promise<void> {
    return this.#dispatcher.close();
  }
}
