import type { CatalogImage, Job } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';
import { presenceOf } from '../images/image-labels.ts';
import { failureLabel, resultLabel, standingOf } from '../jobs/job-labels.ts';
import type { Finding } from './findings.ts';

/** Faults of jobs and images that an administrator has to repair, as findings of the overview. Pure. */
export function upkeepFindings(jobs: readonly Job[], images: readonly CatalogImage[]): Finding[] {
  const ofJobs = jobs.flatMap((job): Finding[] => {
    const standing = standingOf(job);
    if (!standing.failing) return [];
    const failed = job.targets?.find(({ last_run }) => last_run?.error != null)?.last_run ?? standing.lastRun;
    return [
      {
        key: `job:${job.id}`,
        tone: 'warning',
        title: t('{job} {failed}', { job: job.name, failed: inSentence(failureLabel(job)) }),
        text: failed === null ? '' : resultLabel(failed),
        remediation: [],
        hostId: null,
        link: { to: '/admin/jobs/$id', id: job.id, label: t('Open job') },
      },
    ];
  });
  const ofImages = images.flatMap((image): Finding[] => {
    const { failed } = presenceOf(image);
    const link = { to: '/admin/images/$id', id: image.id, label: t('Open image') } as const;
    const about = { remediation: [], hostId: null, link };
    if (!image.installed) return [];
    if (failed.length > 0) {
      const [first] = failed;
      return [
        {
          ...about,
          key: `image:${image.id}:failed`,
          tone: 'warning',
          title: plural(failed.length, '{image} is missing on {n} host', '{image} is missing on {n} hosts', {
            image: image.display_name,
          }),
          text: `${first?.node_name}: ${first?.error ?? t('no reason was reported')}`,
        },
      ];
    }
    if (!image.update_available || image.pinned) return [];
    return [
      {
        ...about,
        key: `image:${image.id}:newer`,
        tone: 'info',
        title: t('{image} {version} is available', { image: image.display_name, version: image.version }),
        text: t('{version} is in use.', { version: image.installed_version ?? t('An older version') }),
      },
    ];
  });
  return [...ofJobs, ...ofImages];
}

/** A label inside a sentence, without its capital letter. */
const inSentence = (label: string): string => label.charAt(0).toLowerCase() + label.slice(1);
