import { createFileRoute } from '@tanstack/react-router';
import { NewLaunchProfilePage } from '../../admin/profiles/new-launch-profile-page.tsx';

// The path is not below /admin/profiles, because a profile may have the id "new".
export const Route = createFileRoute('/admin/new-profile')({ component: NewLaunchProfilePage });
