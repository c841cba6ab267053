import type { FastifyReply, FastifyRequest } from 'fastify';
import { isUnavailable } from '../../database/index.ts';
import { ApiError, unavailable } from '../../errors.ts';

/**
 * Converts an exception into a refusal. An ApiError stays unchanged, an unavailable database becomes 503, a refusal of
 * the framework 400, and any other error 500 without details.
 */
export function refusalOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isUnavailable(error)) return unavailable('The database is busy; try again in a moment.');
  if (
    error instanceof Error &&
    'statusCode' in error &&
    isClientStatus(error.statusCode) &&
    'code' in error
  ) {
    return new ApiError('validation_failed');
  }
  return new ApiError('internal');
}

const isClientStatus = (status: unknown): boolean =>
  typeof status === 'number' && status >= 400 && status < 500;

/**
 * Writes the error envelope.
 * @param logFailure called for a server error with its cause, which the client never sees
 */
export function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  logFailure: (fields: object) => void,
): void {
  const refusal = refusalOf(error);
  if (refusal.status >= 500 && refusal !== error) {
    const { id: reqId, method, routeOptions } = request;
    logFailure({ reqId, method, route: routeOptions.url, err: error });
  }
  if (refusal.extras.retryAfterSecs !== undefined) {
    reply.header('retry-after', String(Math.max(1, Math.ceil(refusal.extras.retryAfterSecs))));
  }
  if (refusal.extras.headers) reply.headers(refusal.extras.headers);
  // After a refused upgrade the socket no longer speaks HTTP.
  if (request.raw.headers.upgrade !== undefined) reply.header('connection', 'close');
  reply
    .code(refusal.status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(refusal.envelope()));
}
