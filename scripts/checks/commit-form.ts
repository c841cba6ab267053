/** Longest subject in characters. With the short hash, a line of `git log --oneline` then fits into 80 columns. */
const LONGEST_SUBJECT = 72;

const FORM = /^[a-z0-9][a-z0-9 ,.-]*: (?![A-Z][a-z])\S/;

/**
 * The faults of a commit's message. Pure.
 * @param message subject, an empty line, and the body with the reason
 * @returns one sentence for each fault; empty: there are no faults
 */
export function commitFaults(message: string): string[] {
  const [subject = '', second = '', ...body] = message.trimEnd().split('\n');
  const faults: string[] = [];
  if (!FORM.test(subject)) faults.push('the subject is not `area: imperative` in lower case');
  if (subject.length > LONGEST_SUBJECT)
    faults.push(`the subject has ${subject.length} characters, more than ${LONGEST_SUBJECT}`);
  if (second !== '') faults.push('the second line is not empty');
  if (body.join('').trim() === '') faults.push('the body does not give the reason');
  return faults;
}
