import { createFileRoute } from '@tanstack/react-router';
import { LibraryPage } from '../../library/library-page.tsx';

export const Route = createFileRoute('/app/_shell/')({ component: LibraryPage });
