import { createFileRoute } from '@tanstack/react-router';
import { NewPresetPage } from '../../../admin/presets/new-preset-page.tsx';

export const Route = createFileRoute('/admin/presets/new')({ component: NewPresetPage });
