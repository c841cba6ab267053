import { SECOND_MS } from '@footlight/platform';
import { encoderFamily } from '@footlight/protocol';
import { coalesceReads, fromJson } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import type { Platform } from '../../platform/platform.ts';
import { decideEncoderBudget, type HostEncoder } from './encoder-budget.ts';
import { type SettingValues, settingsInForce } from './host-settings.ts';

/**
 * Every launch reads the budget, and hosts seldom change, so the result is cached. A changed host affects the budget
 * after at most this time.
 */
const CACHE_MS = 5 * SECOND_MS;

type HostRow = Pick<HostsTable, 'codec_throughput' | 'effective_settings' | 'settings_overrides'>;

/** @returns a reader of the budget of online hosts with known capacity, cached for 5 s */
export function encoderBudgetReader({ database, clock }: Platform): () => Promise<number | null> {
  let cached: { atMs: number; budget: number | null } | null = null;
  return coalesceReads(async () => {
    const nowMs = clock.nowMs();
    if (cached !== null && Math.abs(nowMs - cached.atMs) < CACHE_MS) return cached.budget;
    const rows = await database.db
      .selectFrom('hosts')
      .innerJoin('gpus', 'gpus.host_id', 'hosts.id')
      .select(['hosts.id', 'hosts.codec_throughput', 'hosts.effective_settings', 'hosts.settings_overrides'])
      .select(({ fn }) => [
        fn.sum<number>('gpus.slots_total').as('slots'),
        fn.min('gpus.slots_total').as('fewest_slots'),
      ])
      .where('hosts.status', '=', 'online')
      .where('hosts.capacity_detection', '=', 'ok')
      .where('gpus.reported', '=', 1)
      .where('gpus.slots_total', '>', 0)
      .groupBy('hosts.id')
      .execute();
    const budget = decideEncoderBudget(
      rows.map((row) => ({
        ...encoderOf(row),
        slots: Number(row.slots),
        fewestSlots: Number(row.fewest_slots),
      })),
    );
    cached = { atMs: nowMs, budget };
    return budget;
  });
}

function encoderOf(row: HostRow): Pick<HostEncoder, 'family' | 'mpixelS'> {
  const reported: Record<string, string> =
    row.effective_settings === null ? {} : fromJson(row.effective_settings);
  const { encoder } = settingsInForce(reported, fromJson<SettingValues>(row.settings_overrides));
  const throughput: { h264?: { max_pixel_rate_mpix_s: number } } =
    row.codec_throughput === null ? {} : fromJson(row.codec_throughput);
  return {
    family: encoderFamily.safeParse(encoder).data ?? 'openh264',
    mpixelS: throughput.h264?.max_pixel_rate_mpix_s ?? null,
  };
}
