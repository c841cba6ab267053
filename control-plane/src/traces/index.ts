import type { OtlpTraces } from './otlp-traces.ts';

/** The library is loaded only if traces are sent. */
export async function createOtlpTraces(
  ...given: Parameters<typeof import('./otlp-traces.ts').createOtlpTraces>
): Promise<OtlpTraces> {
  return (await import('./otlp-traces.ts')).createOtlpTraces(...given);
}
