import { Button } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Problem } from '../../components/problem.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { PageHead } from '../frame/page-head.tsx';
import { AccessStep } from './setup-access-step.tsx';
import { FirstAppStep, FirstHostStep, ReadyApps } from './setup-first-steps.tsx';

const STORAGE_KEY = 'footlight.setup-step';
const STEPS = [
  { key: 'access', label: msg('Access') },
  { key: 'host', label: msg('First host') },
  { key: 'app', label: msg('First app') },
  { key: 'done', label: msg('Done') },
] as const;
type StepKey = (typeof STEPS)[number]['key'];

/** Setup after the claim: address, host, app. Every step can be skipped. */
export function SetupWizard() {
  usePageTitle(t('Set up'));
  const [step, setStep] = useState<StepKey>(readStep);
  const queryClient = useQueryClient();
  const status = useQuery({
    queryKey: keys.setup,
    queryFn: ({ signal }) => call('setup.status', { signal }),
  });
  const complete = useMutation({
    mutationFn: () => call('setup.complete', {}),
    onSuccess: (answer) => {
      queryClient.setQueryData(keys.setup, answer);
      localStorage.removeItem(STORAGE_KEY);
    },
  });
  const isComplete = status.data?.setup_completed === true;
  const at = STEPS.findIndex((each) => each.key === step);
  const go = (to: StepKey) => {
    localStorage.setItem(STORAGE_KEY, to);
    setStep(to);
    if (to === 'done' && !isComplete) complete.mutate();
  };
  const next = STEPS[at + 1]?.key;
  const former = STEPS[at - 1]?.key;
  const steps: Record<StepKey, ReactNode> = {
    access: <AccessStep />,
    host: <FirstHostStep />,
    app: <FirstAppStep />,
    done: complete.isError ? (
      <Problem error={complete.error} retry={() => complete.mutate()} />
    ) : (
      <>
        <div className={`${styles.sheet} ${styles.stack}`}>
          <div>
            <h2>{t('Setup is complete')}</h2>
            <p className={styles.dim}>
              {t(
                'You find apps, hosts and everything else in this area. There you can also do the steps that you skipped, at any time.',
              )}
            </p>
          </div>
          <dl className={styles.facts}>
            <dt>{t('People')}</dt>
            <dd>
              <Link to="/admin/invites">{t('Invite them by a link')}</Link>
            </dd>
            <dt>{t('Machines')}</dt>
            <dd>
              <Link to="/admin/hosts">{t('Add another host')}</Link>
            </dd>
            <dt>{t('Backup')}</dt>
            <dd>
              <Link to="/admin/backups">{t('Made every day; see or download them')}</Link>
            </dd>
          </dl>
        </div>
        <ReadyApps />
      </>
    ),
  };
  return (
    <div className={styles.wizard}>
      <PageHead
        title={t('Set up')}
        lead={t('You can leave and come back at any step; nothing here is lost.')}
      />
      <ol className={styles.progress}>
        {STEPS.map((each, index) => {
          const isDone = index < at || (each.key === 'done' && isComplete);
          return (
            <li key={each.key} data-done={isDone} aria-current={index === at ? 'step' : undefined}>
              <span className={styles.progressMark} aria-hidden="true">
                {isDone ? <IconCheck size={14} /> : index + 1}
              </span>
              {t(each.label)}
            </li>
          );
        })}
      </ol>
      {steps[step]}
      <div className={styles.wizardActions}>
        {next !== undefined && (
          <Button variant="filled" onClick={() => go(next)}>
            {next === 'done' ? t('Finish') : t('Next')}
          </Button>
        )}
        {step === 'done' && (
          <Button variant="filled" component="a" href="/app" loading={complete.isPending}>
            {t('Open your library')}
          </Button>
        )}
        {former !== undefined && !(step === 'done' && isComplete) && (
          <Button onClick={() => go(former)}>{t('Back')}</Button>
        )}
        {step !== 'done' && (
          <Button variant="subtle" renderRoot={(props) => <Link to="/admin" {...props} />}>
            {t('Leave for now')}
          </Button>
        )}
      </div>
    </div>
  );
}

function readStep(): StepKey {
  const stored = localStorage.getItem(STORAGE_KEY);
  return STEPS.find((step) => step.key === stored)?.key ?? 'access';
}
