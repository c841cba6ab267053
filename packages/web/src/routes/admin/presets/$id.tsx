import { createFileRoute } from '@tanstack/react-router';
import { PresetPage } from '../../../admin/presets/preset-page.tsx';

export const Route = createFileRoute('/admin/presets/$id')({
  component: function PresetRoute() {
    const { id } = Route.useParams();
    return <PresetPage key={id} id={id} />;
  },
});
