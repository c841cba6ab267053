import { CopyLine } from '../../components/copy-line.tsx';

/**
 * Remedies: commands to copy, and sentences, which end with a full stop.
 * @param props.label names the fault for screen readers
 */
export function Remedies({ lines, label }: { lines: readonly string[]; label: string }) {
  return lines.map((line) =>
    line.endsWith('.') ? <p key={line}>{line}</p> : <CopyLine key={line} value={line} label={label} />,
  );
}
