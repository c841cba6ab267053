import type { Host } from '@footlight/protocol/rest';
import { t } from '../../../i18n/translate.ts';
import styles from './load.module.css';
import { ChartNow, LoadDrawing } from './load-drawing.tsx';
import { loadCharts, samplesIn, spanOf } from './load-model.ts';
import { useHostLoad } from './use-host-load.ts';

const SHOWN = ['cpu', 'memory', 'network'] as const;

/**
 * The load of a host as three small charts, for the picture of the fleet on the overview page. Its space is reserved
 * before the load is known.
 */
export function LoadStrip({ host }: { host: Host }) {
  const load = useHostLoad(host.id);
  const kept = load.data?.samples ?? [];
  const span = spanOf(kept, 'minutes');
  const samples = samplesIn(kept, span);
  const charts = loadCharts(samples, host.mem_mb, host.capacity?.slots_total ?? 0);
  return (
    <ul className={styles.strip} aria-label={t('Load of {host}', { host: host.node_name })}>
      {SHOWN.map((key) => {
        const chart = charts.find((each) => each.key === key);
        return (
          chart !== undefined && (
            <li key={key} className={styles.small}>
              <span className={styles.smallName}>{chart.label}</span>
              <LoadDrawing className={styles.smallDrawing} chart={chart} span={span} shown="minutes" />
              <span className={styles.smallNow}>
                {samples.length > 0 ? <ChartNow chart={chart} /> : load.isPending ? '' : t('no data')}
              </span>
            </li>
          )
        );
      })}
    </ul>
  );
}
