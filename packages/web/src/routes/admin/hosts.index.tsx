import { createFileRoute } from '@tanstack/react-router';
import { HostsPage } from '../../admin/fleet/hosts-page.tsx';

export const Route = createFileRoute('/admin/hosts/')({ component: HostsPage });
