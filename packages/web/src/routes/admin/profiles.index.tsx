import { createFileRoute } from '@tanstack/react-router';
import { ProfilesPage } from '../../admin/profiles/profiles-page.tsx';

export const Route = createFileRoute('/admin/profiles/')({ component: ProfilesPage });
