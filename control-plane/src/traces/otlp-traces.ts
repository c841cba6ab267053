import { type Clock, errorText, type Logger, MINUTE_MS, SECOND_MS, within } from '@footlight/platform';
import { DiagLogLevel, diag, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Config } from '../platform/config/config.ts';
import type { LaunchTrace, LaunchTraces } from '../platform/launch-traces.ts';

/** Time limit for sending the last traces when the service stops. */
const FLUSH_MS = 2 * SECOND_MS;

export interface OtlpTraces extends LaunchTraces {
  /** Sends the waiting traces, for at most FLUSH_MS. */
  close(): Promise<void>;
}

/** Sends launches to an OpenTelemetry collector by OTLP over HTTP, as JSON. */
export function createOtlpTraces(
  { url, headers, serviceName }: NonNullable<Config['traces']>,
  { clock, logger }: { clock: Clock; logger: Logger },
): OtlpTraces {
  let toldAtMs: number | null = null;
  const tell = (error: unknown) => {
    const nowMs = clock.monotonicMs();
    if (toldAtMs !== null && nowMs - toldAtMs < MINUTE_MS) return;
    toldAtMs = nowMs;
    logger.warn({ error: errorText(error) }, 'traces.not_sent');
  };
  const silent = () => undefined;
  // Set a logger, because the library reports failures only to it.
  diag.setLogger(
    { error: tell, warn: silent, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
  );
  const ids = new RandomIdGenerator();
  let traceId = '';
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    // The trace id is derived from the session's id, so that the trace can be found.
    idGenerator: { generateTraceId: () => traceId, generateSpanId: () => ids.generateSpanId() },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: url.href, headers: { ...headers } }),
      }),
    ],
  });
  const tracer = provider.getTracer('footlight');

  function send({ sessionId, hostId, appId, outcome, failureCode, steps }: LaunchTrace): void {
    const [first] = steps;
    const last = steps.at(-1);
    if (first === undefined || last === undefined) return;
    traceId = sessionId.replaceAll('-', '');
    const attributes = {
      'footlight.session_id': sessionId,
      'footlight.app_id': appId,
      'footlight.outcome': outcome,
      ...(hostId !== null && { 'footlight.host_id': hostId }),
      ...(failureCode !== null && { 'footlight.failure_code': failureCode }),
    };
    const root = tracer.startSpan('launch', { startTime: first.startMs, attributes }, ROOT_CONTEXT);
    const inLaunch = trace.setSpan(ROOT_CONTEXT, root);
    for (const { name, startMs, endMs } of steps)
      tracer.startSpan(name, { startTime: startMs }, inLaunch).end(endMs);
    if (outcome === 'failed')
      root.setStatus({ code: SpanStatusCode.ERROR, message: failureCode ?? 'failed' });
    root.end(last.endMs);
  }

  return {
    send,
    async close() {
      await within(clock, FLUSH_MS, provider.shutdown().catch(tell), undefined);
      diag.disable();
    },
  };
}
