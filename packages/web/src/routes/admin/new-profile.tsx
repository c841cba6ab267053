import { createFileRoute } from '@tanstack/react-router';
import { NewLaunchProfilePage } from '../../admin/profiles/new-launch-profile-page.tsx';

// Not below /admin/profiles: people choose ids, and "new" is a valid one.
export const Route = createFileRoute('/admin/new-profile')({ component: NewLaunchProfilePage });
