import { configure } from '@testing-library/react';

// The library's default of one second is too short for a machine that runs other work at the same time.
configure({ asyncUtilTimeout: 60_000 });
