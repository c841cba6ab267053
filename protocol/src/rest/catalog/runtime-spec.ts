import { z } from 'zod';
import { isJsonObject, isShallow } from '../../common.ts';
import { string } from '../atoms.ts';

/** "": bridge for a process; the host's choice for a container. An app never gets the host's own network. */
export const networks = ['', 'none', 'bridge'] as const;
export const network = z.enum(networks);

/** Texts that are used as arguments, mounts or variables. */
export const texts = z.array(string());

/** Environment variables. They are validated but never copied, so that a name such as `__proto__` stays a name. */
export const environment = z
  .custom<Readonly<Record<string, string>>>(
    (value) =>
      isJsonObject(value) &&
      Object.entries(value).every(
        ([name, text]) => typeof text === 'string' && !name.includes('\0') && !text.includes('\0'),
      ),
    { error: 'must be an object of texts without NUL characters' },
  )
  .meta({ type: 'object', additionalProperties: { type: 'string' } });

export const absolutePath = string().refine((value) => value.startsWith('/'), {
  error: 'must be an absolute path',
});

/**
 * How an app is started. It is stored unchanged, including unknown keys. If `image` is missing or "", the app is a
 * process, and `args` is its command with arguments. It is validated but never copied, so that no key is lost or
 * merged.
 */
export interface RuntimeSpec {
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Entries in the form `src:dst` or `src:dst:opts`. */
  readonly mounts?: readonly string[];
  readonly gpu?: boolean;
  readonly network?: (typeof networks)[number];
  readonly no_new_privileges?: boolean;
  readonly systempaths_unconfined?: boolean;
  readonly [key: string]: unknown;
}

const RUNTIME_SPEC_KEYS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ['image', string()],
  ['args', texts],
  ['env', environment],
  ['mounts', texts],
  ['gpu', z.boolean()],
  ['network', network],
  ['no_new_privileges', z.boolean()],
  ['systempaths_unconfined', z.boolean()],
]);

/** The first known key of a runtime spec whose value has the wrong type; undefined: all values are right. */
const wrongRuntimeKey = (spec: object): string | undefined =>
  Object.entries(spec).find(
    ([key, value]) => RUNTIME_SPEC_KEYS.get(key)?.safeParse(value).success === false,
  )?.[0];

export const runtimeSpec = z
  .custom<RuntimeSpec>((value) => isJsonObject(value) && isShallow(value), {
    error: 'must be an object, not nested too deep',
    abort: true,
  })
  .superRefine((spec, context) => {
    const key = wrongRuntimeKey(spec);
    if (key !== undefined) context.addIssue({ code: 'custom', message: 'has the wrong type', path: [key] });
  })
  .meta({ type: 'object', additionalProperties: true });
