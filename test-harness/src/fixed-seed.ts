/**
 * Set-up of each test file: property tests use the same examples in every run, so that a run fails only because of a
 * change. FOOTLIGHT_SEED selects other examples; `scripts/test --long explore` sets it to a new seed.
 */
import { configureGlobal } from 'fast-check';

const FIXED_SEED = '20261124';

process.env.FOOTLIGHT_SEED ??= FIXED_SEED;
configureGlobal({ seed: Number(process.env.FOOTLIGHT_SEED) });
