import { createFileRoute } from '@tanstack/react-router';
import { BackupsPage } from '../../admin/backups/backups-page.tsx';

export const Route = createFileRoute('/admin/backups')({ component: BackupsPage });
