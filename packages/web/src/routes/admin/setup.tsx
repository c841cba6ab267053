import { createFileRoute } from '@tanstack/react-router';
import { SetupWizard } from '../../admin/setup/setup-wizard.tsx';

export const Route = createFileRoute('/admin/setup')({ component: SetupWizard });
