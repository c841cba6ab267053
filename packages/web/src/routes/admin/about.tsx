import { createFileRoute } from '@tanstack/react-router';
import { AboutPage } from '../../admin/about/about-page.tsx';

export const Route = createFileRoute('/admin/about')({ component: AboutPage });
