import type { SessionVerdict } from '@footlight/protocol/rest';
import { isNetworkPath } from '@footlight/protocol/telemetry';
import { NETWORK_PATH_LABELS } from '../../components/network-path-labels.ts';
import { StateChip } from '../../components/state-chip.tsx';
import { localeTag, msg, plural, t } from '../../i18n/translate.ts';
import pages from '../frame/admin-pages.module.css';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import styles from './diagnosis.module.css';
import {
  boundLabel,
  clockLabel,
  conditionLabel,
  conditionResult,
  decides,
  measuredLabel,
  noteLabel,
  TIER_LABELS,
  verdictLabel,
} from './verdict-labels.ts';
import { verdictSentence } from './verdict-sentences.ts';

const columns = (verdict: SessionVerdict): readonly Column<SessionVerdict['falsifiers'][number]>[] => [
  { head: msg('Condition'), cell: conditionLabel },
  {
    head: msg('Result'),
    cell: (each) => <StateChip tone={conditionResult(each).tone}>{conditionResult(each).label}</StateChip>,
  },
  {
    head: msg('Role'),
    cell: (each) => (decides(verdict.verdict, each) ? t('Decides') : t('For comparison')),
  },
  { head: msg('Measured'), kind: 'number', cell: measuredLabel },
  { head: msg('Bound'), kind: 'number', cell: boundLabel },
  { head: msg('Samples'), kind: 'number', cell: (each) => each.n },
  { head: msg('Remark'), cell: ({ note }) => note && <span className={pages.dim}>{noteLabel(note)}</span> },
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
        <p className={styles.reason}>{verdictSentence(verdict.reason)}</p>
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
          {verdict.path !== undefined && (
            <>
              <dt>{t('Path')}</dt>
              <dd>{isNetworkPath(verdict.path) ? t(NETWORK_PATH_LABELS[verdict.path]) : verdict.path}</dd>
            </>
          )}
          <dt>{t('Clocks')}</dt>
          <dd className="tabular">{clockLabel(verdict.clock)}</dd>
        </dl>
      </div>
      {verdict.falsifiers.length > 0 && (
        <ListTable
          label={t('Conditions of the verdict')}
          columns={columns(verdict)}
          rows={verdict.falsifiers}
          rowKey={(each) => `${each.name} ${each.estimator}`}
        />
      )}
    </>
  );
}
