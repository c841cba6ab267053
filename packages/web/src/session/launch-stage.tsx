import type { AppListItem } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { AppPicture } from '../components/app-picture.tsx';
import type { LaunchStep } from './launch-steps.ts';
import styles from './session.module.css';

const TICK_MS = 250;

/**
 * The screen between the click and the picture: what happens, how long it has taken, how long it usually takes.
 * @param startedAtMs when the person asked, Unix ms
 * @param usualMs null while this browser has not seen the app start on that machine
 * @param onCancel null while there is nothing yet that could be cancelled
 * @param leaving the live picture is there; the screen fades away
 */
export function LaunchStage(props: {
  app: Pick<AppListItem, 'id' | 'name'> & Partial<AppListItem>;
  steps: readonly LaunchStep[];
  startedAtMs: number;
  usualMs: number | null;
  onCancel: (() => void) | null;
  cancelWords?: string;
  leaving?: boolean;
  children?: ReactNode;
}) {
  const stuck = props.children !== undefined && props.children !== null && props.children !== false;
  const elapsedMs = useElapsed(props.startedAtMs, !stuck && props.leaving !== true);
  const current = props.steps.find((step) => step.state === 'current');
  return (
    <section
      className={styles.stage}
      data-leaving={props.leaving ?? false}
      data-mantine-color-scheme="dark"
      aria-label={`Starting ${props.app.name}`}
      inert={props.leaving ?? false}
    >
      <AppPicture app={props.app} shape="hero" className={styles.stagePicture} />
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
                  {step.words}
                </li>
              ))}
            </ol>
            <p className="visually-hidden" role="status">
              {current?.words}
            </p>
            <div className={styles.timing}>
              <div className={`${styles.timingLine} tabular`}>
                <span>{secondsWords(elapsedMs)}</span>
                {props.usualMs !== null && <span>usually {secondsWords(props.usualMs)}</span>}
              </div>
              {/* Its place is kept while nothing is known, so that nothing moves when something is. */}
              <div className={styles.timingBar} data-known={props.usualMs !== null} aria-hidden="true">
                {props.usualMs !== null && (
                  <div
                    className={styles.timingFill}
                    style={{ width: `${Math.min(97, (100 * elapsedMs) / props.usualMs)}%` }}
                  />
                )}
              </div>
            </div>
          </>
        )}
        <div className={styles.stageAct}>
          {props.onCancel !== null && (
            <Button onClick={props.onCancel}>{props.cancelWords ?? 'Cancel'}</Button>
          )}
        </div>
      </div>
    </section>
  );
}

/** Seconds with one digit below ten, since that is where a person feels the difference. */
function secondsWords(ms: number): string {
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

function useElapsed(startedAtMs: number, running: boolean): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [running]);
  return Math.max(0, nowMs - startedAtMs);
}
