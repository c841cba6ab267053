import type { AdminSession, HostConsole } from '@footlight/protocol/rest';
import { msg, t } from '../../i18n/translate.ts';

export type ConsoleConfig = HostConsole['config'];
type Mode = NonNullable<ConsoleConfig['mode']>;
/** Unsaved changes by field; null: the default. */
export type ConsoleDraft = { readonly [Key in keyof ConsoleConfig]?: ConsoleConfig[Key] | null };

const ANY = '';

/** The configuration with the draft applied. */
export function withDraft(config: ConsoleConfig, draft: ConsoleDraft): ConsoleConfig {
  return { ...config, ...draft } as ConsoleConfig;
}

/** Changes of a draft that differ from the configuration. */
export function realChanges(config: ConsoleConfig, draft: ConsoleDraft): ConsoleDraft {
  const isAsBefore = (key: string) =>
    JSON.stringify(config[key as keyof ConsoleConfig]) === JSON.stringify(draft[key as keyof ConsoleConfig]);
  return Object.fromEntries(Object.entries(draft).filter(([key]) => !isAsBefore(key)));
}

/** "1920 × 1080, 59.94 Hz". */
export function modeLabel({ width, height, refresh_millihz }: Mode): string {
  return `${width} × ${height}, ${Number((refresh_millihz / 1_000).toFixed(2))} Hz`;
}

/**
 * Choices of the display: any display, each mode of each connected output, and the stored choice even if it is missing
 * now.
 */
export function displayChoices({ config, capabilities }: HostConsole): { value: string; label: string }[] {
  const choices = capabilities.outputs
    .filter(({ connected }) => connected)
    .flatMap(({ id, modes }) =>
      modes
        .filter(({ interlaced }) => !interlaced)
        .map((mode) => ({ value: displayValue(id, mode), label: `${id}: ${modeLabel(mode)}` })),
    );
  const stored = valueOfDisplay(config);
  const isOffered = stored === ANY || choices.some(({ value }) => value === stored);
  const kept =
    isOffered || config.mode === null
      ? []
      : [
          {
            value: stored,
            label: t('{display} (not connected)', {
              display: `${config.output_id}: ${modeLabel(config.mode)}`,
            }),
          },
        ];
  return [{ value: ANY, label: t('Any connected display, in its preferred mode') }, ...kept, ...choices];
}

/** The choice of a configuration. */
export function valueOfDisplay({ output_id, mode }: ConsoleConfig): string {
  return output_id === null || mode === null ? ANY : displayValue(output_id, mode);
}

function displayValue(id: string, { width, height, refresh_millihz }: Mode): string {
  return `${id} ${width} ${height} ${refresh_millihz}`;
}

/** Values of a choice: output and mode, or null for both. */
export function displayOf(value: string): Pick<ConsoleConfig, 'output_id' | 'mode'> {
  if (value === ANY) return { output_id: null, mode: null };
  const [output_id = '', width, height, refresh_millihz] = value.split(' ');
  return {
    output_id,
    mode: { width: Number(width), height: Number(height), refresh_millihz: Number(refresh_millihz) },
  };
}

const SHOWN: Readonly<Record<AdminSession['state'], string>> = {
  pending: msg('{app} for {user} is pending there.'),
  assigned: msg('{app} for {user} is assigned there.'),
  starting: msg('{app} for {user} is starting there.'),
  running: msg('{app} for {user} is running there.'),
  stopping: msg('{app} for {user} is stopping there.'),
  stopped: msg('{app} for {user} is stopped there.'),
  failed: msg('{app} for {user} is failed there.'),
};

/** "SuperTux for alice is running there." */
export function shownLabel({ app_name, username, state }: AdminSession): string {
  return t(SHOWN[state], { app: app_name ?? t('A deleted app'), user: username ?? t('a deleted account') });
}

/** Why the draft cannot be saved; null: it can be saved. */
export function consoleProblem(config: ConsoleConfig): string | null {
  return config.auto_start_on_display && config.default_user === null
    ? t('Choose the account that the app starts for.')
    : null;
}
