import { createFileRoute } from '@tanstack/react-router';
import { NewAppPage } from '../../../admin/apps/new-app-page.tsx';

export const Route = createFileRoute('/admin/apps/new')({ component: NewAppPage });
