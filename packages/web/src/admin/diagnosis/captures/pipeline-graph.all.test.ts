import { describe, expect, test } from 'vitest';
import { readPipeline } from './pipeline-graph.ts';

describe('a text that a hostile host made', () => {
  const bins = (pads: number) => {
    const names = Array.from({ length: pads }, (_, n) => `p${n}`);
    const nodes = names.map((name) => `${name} [x]`).join('\n');
    const links = names.flatMap((from) => names.map((to) => `${from} -> ${to}`)).join('\n');
    return `subgraph a {\nlabel="bin"\n${nodes}\nsubgraph b {\nlabel="e"\n}\n}\ns -> p0\n${links}`;
  };

  test.each([
    ['pads of a bin that all lead to each other', bins(7)],
    ['a long line with many ends', `${'a->'.repeat(290)}b [${' label="x"'.repeat(30_000)}]`],
    ['nested clusters', `${'subgraph a {\n'.repeat(20_000)}${'x [a]\n'.repeat(20_000)}a -> b`],
    ['very many ends', 'a->'.repeat(1_300_000)],
  ])('%s: it takes no time', (_what, text) => {
    const before = performance.now();
    readPipeline(text);
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});
