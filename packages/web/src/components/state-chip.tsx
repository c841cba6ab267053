import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconInfoCircle,
  IconX,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import styles from './components.module.css';

/** Meaning of a state, which decides colour and icon. */
export type Tone = 'success' | 'warning' | 'danger' | 'info' | 'neutral';

const ICONS = {
  success: IconCircleCheck,
  warning: IconAlertTriangle,
  danger: IconX,
  info: IconInfoCircle,
  neutral: IconCircleDashed,
};

/** A state as a small chip with icon, colour and text. @param props.title tooltip */
export function StateChip(props: { tone: Tone; title?: string; children: ReactNode }) {
  const { tone, title, children } = props;
  const Icon = ICONS[tone];
  return (
    <span className={`${styles.chip} ${styles[tone]}`} title={title}>
      <Icon size={14} aria-hidden="true" />
      {children}
    </span>
  );
}
