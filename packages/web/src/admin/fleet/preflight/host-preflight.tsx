import type { Host } from '@footlight/protocol/rest';
import { Button, Loader } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle, IconRoute } from '@tabler/icons-react';
import { ApiFailure } from '../../../api/client.ts';
import { errorText } from '../../../api/error-text.ts';
import { EmptyState } from '../../../components/empty-state.tsx';
import { Problem } from '../../../components/problem.tsx';
import { StateChip, type Tone } from '../../../components/state-chip.tsx';
import { decimalLabel } from '../../../i18n/number-labels.ts';
import { msg, t } from '../../../i18n/translate.ts';
import styles from '../../frame/admin-pages.module.css';
import { Section } from '../../frame/page-head.tsx';
import { Remedies } from '../../frame/remedies.tsx';
import { adviceFor, type PathState, pathName, pathSentence } from './preflight-model.ts';
import { type TestedPath, usePreflight } from './use-preflight.ts';

const STATES: Readonly<Record<PathState['kind'], readonly [Tone, string]>> = {
  waiting: ['neutral', msg('Waiting')],
  testing: ['info', msg('Testing')],
  works: ['success', msg('Works')],
  no_relay: ['danger', msg('Does not work')],
  no_connection: ['danger', msg('Does not work')],
  failed: ['warning', msg('Not tested')],
  missing: ['neutral', msg('Not set up')],
};

/** Tests which paths work between this browser and the host, with advice for those that do not. */
export function HostPreflight({ host }: { host: Pick<Host, 'id' | 'node_name' | 'status' | 'readiness'> }) {
  const preflight = usePreflight(host.id);
  const { paths, running, error } = preflight;
  const isOffline = host.status === 'offline';
  const button = (
    <Button size="sm" loading={running} disabled={isOffline} onClick={preflight.start}>
      {paths === null ? t('Test the connection') : t('Test again')}
    </Button>
  );
  const sentence = paths && pathSentence(paths);
  return (
    <Section title={t('Connection from this browser')} actions={button} busy={running}>
      {paths === null && error === null && (
        <EmptyState icon={IconRoute} title={isOffline ? t('The host is offline') : t('Not tested yet')}>
          {isOffline
            ? t('An offline host cannot be tested. Connect it first.')
            : t(
                'The test tries each path that picture and sound can take from the host to this browser. It takes up to a minute.',
              )}
        </EmptyState>
      )}
      {error !== null &&
        (error instanceof ApiFailure && error.code === 'preflight_unsupported' ? (
          <EmptyState icon={IconRoute} title={t('Update the agent of this host')}>
            {t('Its agent is older than this test. docs/backup.md explains how to upgrade a host.')}
          </EmptyState>
        ) : (
          <Problem error={error} retry={preflight.start} />
        ))}
      {paths !== null && (
        <>
          <div className={styles.finding} role="status" data-tone={sentence?.tone ?? 'info'}>
            {sentence === null ? (
              <Loader size={20} />
            ) : sentence.tone === 'success' ? (
              <IconCircleCheck size={20} aria-hidden="true" />
            ) : sentence.tone === 'info' ? (
              <IconInfoCircle size={20} aria-hidden="true" />
            ) : (
              <IconAlertTriangle size={20} aria-hidden="true" />
            )}
            <p>
              {sentence?.text ??
                t('Testing the paths between this browser and {host}…', { host: host.node_name })}
            </p>
          </div>
          <ul className={styles.checks}>
            {paths.map((tested) => (
              <PathRow key={tested.path} tested={tested} readiness={host.readiness} />
            ))}
          </ul>
        </>
      )}
    </Section>
  );
}

function PathRow({ tested, readiness }: { tested: TestedPath; readiness: Host['readiness'] }) {
  const { path, planned, state } = tested;
  const [tone, label] = STATES[state.kind];
  return (
    <li className={styles.check}>
      <span>
        <StateChip tone={tone}>{t(label)}</StateChip>
      </span>
      <div className={styles.findingText}>
        <p className={styles.findingTitle}>{pathName(path)}</p>
        {state.kind === 'works' && <p>{t('Round trip {ms} ms', { ms: roundTripLabel(state.rttMs) })}</p>}
        {state.kind === 'failed' && <p>{failureText(state.error)}</p>}
        <Remedies
          lines={adviceFor({ planned, readiness }, state)}
          label={t('command for {path}', { path: pathName(path) })}
        />
      </div>
    </li>
  );
}

/** Below ten milliseconds with one decimal, because a path in one network takes less than a millisecond. */
const roundTripLabel = (ms: number) => decimalLabel(ms, ms < 10 ? 1 : 0);

function failureText(error: unknown): string {
  if (!(error instanceof ApiFailure)) return t('This browser could not make the test.');
  if (error.code === 'internal')
    return t('The host did not answer. Try again. During an upgrade, upgrade all control planes first.');
  const { title, advice } = errorText(error);
  return `${title}. ${advice}`;
}
