import type { Gpu, Host } from '@footlight/protocol/rest';
import { Link } from '@tanstack/react-router';
import { Skeleton } from '../../components/skeleton.tsx';
import { plural, t } from '../../i18n/translate.ts';
import { LoadStrip } from '../fleet/load/load-strip.tsx';
import { HostChip } from '../fleet/states.tsx';
import styles from '../frame/admin-pages.module.css';

/** Up to this number of slots the page draws squares, because a larger number is easier to read as a number. */
const MAX_SQUARES = 32;

/**
 * Up to this number of hosts the page draws the load of each host, with one request per host every 2.5 s. For a larger
 * fleet it shows only slots.
 */
const MAX_STRIPS = 24;

/**
 * The fleet as a picture: a row per host, a cell per GPU, a square per slot, and the host's load of the last five
 * minutes.
 * @param props.hosts the first hosts by name
 * @param props.total number of all hosts
 */
export function FleetPicture({
  hosts,
  total,
  gpus,
}: {
  hosts: readonly Host[];
  total: number;
  /** undefined: not read yet */
  gpus: ReadonlyMap<string, Gpu[]> | undefined;
}) {
  return (
    <>
      <ul className={styles.fleet}>
        {hosts.map((host) => (
          <li key={host.id} className={styles.hostRow} data-away={host.status === 'offline'}>
            <div className={styles.chipLine}>
              <Link to="/admin/hosts/$id" params={{ id: host.id }} className={styles.nameLink}>
                {host.node_name}
              </Link>
              <HostChip host={host} />
            </div>
            <GpuCells host={host} gpus={gpus?.get(host.id)} />
            {hosts.length <= MAX_STRIPS && <LoadStrip host={host} />}
          </li>
        ))}
      </ul>
      {total > hosts.length && (
        <p className={styles.dim}>
          <Link to="/admin/hosts">{plural(total - hosts.length, '{n} host more', '{n} hosts more')}</Link>
        </p>
      )}
    </>
  );
}

function GpuCells({ host, gpus }: { host: Host; gpus: Gpu[] | undefined }) {
  if (gpus === undefined) return <Skeleton width={180} height={54} />;
  if (gpus.length === 0) {
    return <p className={styles.dim}>{host.capacity_reason ?? t('No GPU reported')}</p>;
  }
  return (
    <ul className={styles.gpuCells}>
      {gpus.map((gpu) => (
        <li key={gpu.gpu_id} className={styles.gpuCell}>
          <div className={styles.gpuName}>
            <b title={`${gpu.vendor} ${gpu.model}`}>{gpu.model}</b>
            <span className="tabular">
              {plural(gpu.slots_total, '{taken}/{n} slot', '{taken}/{n} slots', {
                taken: gpu.slots_reserved,
              })}
            </span>
          </div>
          <Slots gpu={gpu} />
        </li>
      ))}
    </ul>
  );
}

function Slots({ gpu }: { gpu: Gpu }) {
  const label = plural(gpu.slots_total, '{taken} of {n} slot taken', '{taken} of {n} slots taken', {
    taken: gpu.slots_reserved,
  });
  return (
    <div className={styles.slots} role="img" aria-label={label} title={label}>
      {Array.from({ length: Math.min(MAX_SQUARES, gpu.slots_total) }, (_none, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a slot is its position
        <span key={index} className={styles.slot} data-used={index < gpu.slots_reserved} />
      ))}
    </div>
  );
}
