import { runProgram } from '../runtime/programs/run-program.ts';

/** Time limit of vainfo, because a hanging driver must not block the agent's start. Chosen, not measured. */
const LIMIT_MS = 5_000;

/** VA-API facts of one render node. */
export interface VaInfo {
  /** The driver's own description, for example "Mesa Gallium driver 22.3.6 for AMD Radeon RX 6600". */
  driver: string | null;
  /** Codecs with an encode entry point. */
  encodes: ('h264' | 'h265' | 'av1')[];
}

const PROFILES = [
  [/^VAProfileH264/, 'h264'],
  [/^VAProfileHEVC/, 'h265'],
  [/^VAProfileAV1/, 'av1'],
] as const;

/** Parses the output of `vainfo --display drm`. Missing values become null or are left out. */
export function parseVainfo(output: string): VaInfo {
  const driver = /Driver version:\s*(.+)$/m.exec(output)?.[1]?.trim() ?? null;
  const encodes = new Set<VaInfo['encodes'][number]>();
  for (const match of output.matchAll(/^\s*(VAProfile\w+)\s*:\s*(VAEntrypoint\w+)\s*$/gm)) {
    const [, profile = '', entry = ''] = match;
    if (!/^VAEntrypointEncSlice(LP)?$/.test(entry)) continue;
    const codec = PROFILES.find(([pattern]) => pattern.test(profile))?.[1];
    if (codec) encodes.add(codec);
  }
  return { driver, encodes: [...encodes] };
}

/** @returns null when vainfo is not installed, fails, or does not answer within 5 s */
export async function queryVainfo(renderNode: string): Promise<VaInfo | null> {
  const answer = await runProgram('vainfo', ['--display', 'drm', '--device', renderNode], {
    limitMs: LIMIT_MS,
    maxBytes: 1024 * 1024,
  });
  return answer.kind === 'ok' ? parseVainfo(`${answer.stdout}\n${answer.stderr}`) : null;
}
