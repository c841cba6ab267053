import { createFileRoute } from '@tanstack/react-router';
import { InvitesPage } from '../../admin/people/invites-page.tsx';

export const Route = createFileRoute('/admin/invites')({ component: InvitesPage });
