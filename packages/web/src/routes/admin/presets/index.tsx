import { createFileRoute } from '@tanstack/react-router';
import { PresetsPage } from '../../../admin/presets/presets-page.tsx';

export const Route = createFileRoute('/admin/presets/')({ component: PresetsPage });
