import { expect, test } from 'vitest';
import { namesIn, withStraightImports } from './straight-imports.ts';

const INDEX = `import { Button } from "./button/Button.mjs";
export { default as IconX, default as IconCross } from './icons/x.mjs';
import { useId } from "elsewhere";
export { Button, useId };`;

test('an index maps each of its names to its file', () => {
  const names = namesIn(INDEX, '/lib/index.mjs');
  expect([...names]).toEqual([
    ['Button', { file: '/lib/button/Button.mjs', exported: 'Button' }],
    ['IconX', { file: '/lib/icons/x.mjs', exported: 'default' }],
    ['IconCross', { file: '/lib/icons/x.mjs', exported: 'default' }],
  ]);
});

test('each name is imported from its file, under the same local name; types are removed', () => {
  const indexes = new Map([['kit', namesIn(INDEX, '/lib/index.mjs')]]);
  const code = `import {\n  Button as Push,\n  type Props,\n  IconX,\n  useId,\n} from 'kit';\nimport { a } from 'other';\nimport type { T } from 'kit';`;
  expect(withStraightImports(code, indexes)).toBe(
    "import { Button as Push } from '/lib/button/Button.mjs'; import { default as IconX } from '/lib/icons/x.mjs';" +
      " import { useId } from 'kit';\nimport { a } from 'other';\nimport type { T } from 'kit';",
  );
});
