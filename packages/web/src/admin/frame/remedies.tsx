import { CopyLine } from '../../components/copy-line.tsx';

/**
 * Remedies: commands to copy, and sentences, which end with a full stop, or with a colon before a command.
 * @param props.label names the fault for screen readers
 */
export function Remedies({ lines, label }: { lines: readonly string[]; label: string }) {
  return lines.map((line) =>
    /[.:]$/.test(line) ? <p key={line}>{line}</p> : <CopyLine key={line} value={line} label={label} />,
  );
}
