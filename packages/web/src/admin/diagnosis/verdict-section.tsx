import type { SessionVerdict } from '@footlight/protocol/rest';
import { StateChip } from '../../components/state-chip.tsx';
import pages from '../frame/admin-pages.module.css';
import { type Column, DataTable } from '../frame/lists/data-table.tsx';
import { countLabel } from '../frame/quantity-labels.ts';
import styles from './diagnosis.module.css';
import {
  boundLabel,
  clockLabel,
  conditionLabel,
  conditionResult,
  decides,
  figureLabel,
  TIER_LABELS,
  verdictLabel,
} from './verdict-labels.ts';

const COLUMNS: readonly Column[] = [
  { label: 'Condition' },
  { label: 'Result' },
  { label: 'Role' },
  { label: 'Measured', kind: 'number' },
  { label: 'Bound', kind: 'number' },
  { label: 'Samples', kind: 'number' },
  { label: 'Remark' },
];

/**
 * The main limit of the session in the window, the conditions with their values, and the reliability of the verdict.
 */
export function VerdictSection({ verdict }: { verdict: SessionVerdict }) {
  const label = verdictLabel(verdict);
  const { n_host, n_client } = verdict.window;
  return (
    <>
      <div className={styles.verdict}>
        <p className={styles.verdictTitle}>
          <StateChip tone={label.tone}>{label.title}</StateChip>
        </p>
        <p className={styles.reason}>{verdict.reason}</p>
        {label.remedy !== '' && <p className={styles.remedy}>{label.remedy}</p>}
        <dl className={pages.facts}>
          <dt>Judged from</dt>
          <dd className="tabular">
            {TIER_LABELS[verdict.evidence_tier]} ({countLabel(n_host, 'sample')} of the host, {n_client} of
            the viewer)
          </dd>
          <dt>Clocks</dt>
          <dd className="tabular">{clockLabel(verdict.clock)}</dd>
        </dl>
      </div>
      {verdict.falsifiers.length > 0 && (
        <DataTable label="Conditions of the verdict" columns={COLUMNS}>
          {verdict.falsifiers.map((each) => (
            <tr key={`${each.name} ${each.estimator}`}>
              <td className={styles.conditions}>{conditionLabel(each)}</td>
              <td>
                <StateChip tone={conditionResult(each).tone}>{conditionResult(each).label}</StateChip>
              </td>
              <td>{decides(verdict.verdict, each) ? 'Decides' : 'For comparison'}</td>
              <td className={pages.number}>{figureLabel(each.value, each.unit)}</td>
              <td className={pages.number}>{boundLabel(each)}</td>
              <td className={pages.number}>{each.n}</td>
              <td className={pages.dim}>{each.note ?? ''}</td>
            </tr>
          ))}
        </DataTable>
      )}
    </>
  );
}
