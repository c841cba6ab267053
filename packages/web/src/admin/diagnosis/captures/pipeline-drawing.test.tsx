// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { PipelineDrawing } from './pipeline-drawing.tsx';
import { readPipeline } from './pipeline-graph.ts';

afterEach(cleanup);

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'an element that is called %s is drawn like any other',
  (name) => {
    const graph = readPipeline(`${name} -> sink\nsink -> ${name}\n${name} -> last`);
    if (graph === null) throw new Error('no graph');
    render(<PipelineDrawing graph={graph} />);
    expect(screen.getByRole('img', { name: `3 elements: ${name}, sink, last` })).toBeDefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);
