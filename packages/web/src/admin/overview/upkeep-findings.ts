import type { CatalogImage, Job } from '@footlight/protocol/rest';
import { countLabel } from '../frame/quantity-labels.ts';
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
        title: `${job.name} ${failureLabel(job).toLowerCase()}`,
        text: failed === null ? '' : resultLabel(failed),
        remediation: [],
        hostId: null,
        link: { to: '/admin/jobs/$id', id: job.id, label: 'Open job' },
      },
    ];
  });
  const ofImages = images.flatMap((image): Finding[] => {
    const { failed } = presenceOf(image);
    const link = { to: '/admin/images/$id', id: image.id, label: 'Open image' } as const;
    const about = { remediation: [], hostId: null, link };
    if (!image.installed) return [];
    if (failed.length > 0) {
      const [first] = failed;
      return [
        {
          ...about,
          key: `image:${image.id}:failed`,
          tone: 'warning',
          title: `${image.display_name} is missing on ${countLabel(failed.length, 'host')}`,
          text: `${first?.node_name}: ${first?.error ?? 'no reason was reported'}`,
        },
      ];
    }
    if (!image.update_available || image.pinned) return [];
    return [
      {
        ...about,
        key: `image:${image.id}:newer`,
        tone: 'info',
        title: `${image.display_name} ${image.version} is available`,
        text: `${image.installed_version ?? 'An older version'} is in use.`,
      },
    ];
  });
  return [...ofJobs, ...ofImages];
}
