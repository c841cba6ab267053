import { createFileRoute } from '@tanstack/react-router';
import { AppsPage } from '../../../admin/apps/apps-page.tsx';

export const Route = createFileRoute('/admin/apps/')({ component: AppsPage });
