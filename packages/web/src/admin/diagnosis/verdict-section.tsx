import type { SessionVerdict } from '@footlight/protocol/rest';
import { StateChip } from '../../components/state-chip.tsx';
import { localeTag, msg, plural, t } from '../../i18n/translate.ts';
import pages from '../frame/admin-pages.module.css';
import { type Column, DataTable } from '../frame/lists/data-table.tsx';
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
  { label: msg('Condition') },
  { label: msg('Result') },
  { label: msg('Role') },
  { label: msg('Measured'), kind: 'number' },
  { label: msg('Bound'), kind: 'number' },
  { label: msg('Samples'), kind: 'number' },
  { label: msg('Remark') },
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
          <dt>{t('Judged from')}</dt>
          <dd className="tabular">
            {plural(
              n_host,
              '{tier} ({n} sample of the host, {viewer} of the viewer)',
              '{tier} ({n} samples of the host, {viewer} of the viewer)',
              { tier: t(TIER_LABELS[verdict.evidence_tier]), viewer: n_client.toLocaleString(localeTag()) },
            )}
          </dd>
          <dt>{t('Clocks')}</dt>
          <dd className="tabular">{clockLabel(verdict.clock)}</dd>
        </dl>
      </div>
      {verdict.falsifiers.length > 0 && (
        <DataTable
          label={t('Conditions of the verdict')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
        >
          {verdict.falsifiers.map((each) => (
            <tr key={`${each.name} ${each.estimator}`}>
              <td className={styles.conditions}>{conditionLabel(each)}</td>
              <td>
                <StateChip tone={conditionResult(each).tone}>{conditionResult(each).label}</StateChip>
              </td>
              <td>{decides(verdict.verdict, each) ? t('Decides') : t('For comparison')}</td>
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
