import type { AppListItem } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { type CSSProperties, type ReactNode, useEffect, useState } from 'react';
import { clock } from '../clock.ts';
import { AppPicture } from '../components/app-picture.tsx';
import { awaitPad } from '../focus/await-pad.ts';
import { localeTag, t } from '../i18n/translate.ts';
import styles from './launch.module.css';
import type { LaunchStep } from './launch-steps.ts';

/** Four updates a second: the bar moves smoothly, and the page stays idle between them. */
const TICK_MS = 250;

/**
 * The launch screen: steps, elapsed time, usual time.
 * @param startedAtMs time of the click, Unix ms
 * @param usualMs null: this browser has not measured a launch of the app on this host
 * @param onCancel null: nothing can be cancelled now
 * @param onShow shows the picture although it has only one colour; missing: not offered
 * @param leaving the live picture is shown, and the screen fades out
 */
export function LaunchStage(props: {
  app: Pick<AppListItem, 'id' | 'name'> & Partial<AppListItem>;
  steps: readonly LaunchStep[];
  startedAtMs: number;
  usualMs: number | null;
  onCancel: (() => void) | null;
  cancelLabel?: string;
  onShow?: () => void;
  leaving?: boolean;
  children?: ReactNode;
}) {
  const stuck = props.children !== undefined && props.children !== null && props.children !== false;
  const current = props.steps.find((step) => step.state === 'current');
  return (
    <section
      className={styles.stage}
      data-leaving={props.leaving ?? false}
      data-mantine-color-scheme="dark"
      aria-label={t('Starting {app}', { app: props.app.name })}
      inert={props.leaving ?? false}
    >
      <AppPicture app={props.app} shape="hero" className={styles.stagePicture} />
      {props.leaving !== true && <PadOnStage />}
      <div className={styles.stageText}>
        <h1>{props.app.name}</h1>
        {stuck ? (
          props.children
        ) : (
          <>
            <ol className={styles.steps}>
              {props.steps.map((step) => (
                <li
                  key={step.key}
                  className={styles.step}
                  data-state={step.state}
                  aria-current={step.state === 'current' ? 'step' : undefined}
                >
                  <span className={styles.stepMark} aria-hidden="true">
                    {step.state === 'done' && <IconCheck size={18} />}
                    {step.state === 'current' && <span className={styles.stepPulse} />}
                    {step.state === 'ahead' && <span className={styles.stepDot} />}
                  </span>
                  {step.label}
                </li>
              ))}
            </ol>
            <p className="visually-hidden" role="status">
              {current?.label}
            </p>
            <Timing
              startedAtMs={props.startedAtMs}
              usualMs={props.usualMs}
              running={props.leaving !== true}
            />
          </>
        )}
        {props.onShow !== undefined && (
          <p role="status">{t('The app has drawn one plain colour so far. It may still be starting.')}</p>
        )}
        <div className={styles.stageAct}>
          {props.onShow !== undefined && (
            <Button variant="filled" onClick={props.onShow}>
              {t('Show it')}
            </Button>
          )}
          {props.onCancel !== null && (
            <Button onClick={props.onCancel}>{props.cancelLabel ?? t('Cancel')}</Button>
          )}
        </div>
      </div>
    </section>
  );
}

/** While no picture is shown, a gamepad moves the focus between the controls. Later its input goes to the app. */
function PadOnStage() {
  // The back button must not cancel a launch, because an accidental press would end it. Only the Cancel button ends a
  // launch.
  useEffect(() => awaitPad(() => {}), []);
  return null;
}

/**
 * Elapsed and usual time, in a separate component, so that an update renders nothing else. The compositor animates the
 * bar. A width that the page updates would cost layout and paint in each frame, on the processor that the launch needs.
 */
function Timing({
  startedAtMs,
  usualMs,
  running,
}: {
  startedAtMs: number;
  usualMs: number | null;
  running: boolean;
}) {
  const elapsedMs = useElapsed(startedAtMs, running);
  const [shownAtMs] = useState(() => clock.nowMs());
  return (
    <div className={styles.timing}>
      <div className={`${styles.timingLine} tabular`}>
        <span>{secondsLabel(elapsedMs)}</span>
        {usualMs !== null && <span>{t('usually {time}', { time: secondsLabel(usualMs) })}</span>}
      </div>
      {/* Reserves its space, so that nothing moves later. */}
      <div className={styles.timingBar} data-known={usualMs !== null} aria-hidden="true">
        {usualMs !== null && (
          <div
            className={styles.timingFill}
            // The launch may have started before this component was mounted.
            style={timing(usualMs, Math.min(0, startedAtMs - shownAtMs))}
          />
        )}
      </div>
    </div>
  );
}

function timing(usualMs: number, delayMs: number): CSSProperties {
  return { '--usual': `${usualMs}ms`, '--delay': `${delayMs}ms` } as CSSProperties;
}

/** Seconds with one decimal below ten. */
function secondsLabel(ms: number): string {
  const digits = ms < 9950 ? 1 : 0;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(ms / 1000).toLocaleString(localeTag(), options)} s`;
}

function useElapsed(startedAtMs: number, running: boolean): number {
  const [nowMs, setNowMs] = useState(() => clock.nowMs());
  useEffect(() => {
    if (!running) return;
    const timer = clock.setInterval(() => setNowMs(clock.nowMs()), TICK_MS);
    return () => timer.cancel();
  }, [running]);
  return Math.max(0, nowMs - startedAtMs);
}
