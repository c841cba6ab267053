import { createFileRoute } from '@tanstack/react-router';
import { LibraryPage } from '../../library/library-page.tsx';
import { askForLibrary } from '../../library/use-library.ts';

export const Route = createFileRoute('/app/_shell/')({
  loader: ({ context }) => askForLibrary(context.queryClient),
  component: LibraryPage,
});
