import { createFileRoute, useLocation } from '@tanstack/react-router';
import { JoinPage } from '../session/guests/join-page.tsx';

export const Route = createFileRoute('/join')({
  component: function JoinRoute() {
    // The secret is in the fragment, which browsers do not send to a server.
    const secret = useLocation({ select: ({ hash }) => hash });
    // The key discards the state of a link when another one is opened in its tab, which loads no page.
    return <JoinPage key={secret} secret={secret} />;
  },
});
