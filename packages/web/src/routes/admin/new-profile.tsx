import { createFileRoute } from '@tanstack/react-router';
import { NewLaunchProfilePage } from '../../admin/profiles/new-launch-profile-page.tsx';

// Not below /admin/profiles: ids are chosen by people, and "new" is a good one.
export const Route = createFileRoute('/admin/new-profile')({ component: NewLaunchProfilePage });
