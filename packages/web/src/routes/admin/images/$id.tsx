import { createFileRoute } from '@tanstack/react-router';
import { ImagePage } from '../../../admin/images/image-page.tsx';

export const Route = createFileRoute('/admin/images/$id')({
  component: function ImageRoute() {
    const { id } = Route.useParams();
    return <ImagePage key={id} id={id} />;
  },
});
