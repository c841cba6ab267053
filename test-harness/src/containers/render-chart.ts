import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { repositoryRoot } from '../stack/program.ts';

const run = promisify(execFile);
const CHART = path.join(repositoryRoot, 'deploy/helm/footlight');

/** An object of Kubernetes. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: the objects of different kinds have nothing else in common
  [field: string]: any;
}

/** Renders the chart of deploy/helm. Owns its compiled program until `close`. */
export interface ChartRenderer {
  /**
   * @param values override values.yaml
   * @returns the objects by the file of their template
   * @throws Error with the reason, if the chart refuses the values
   */
  render(values: object): Promise<Record<string, KubernetesObject>>;
  close(): Promise<void>;
}

/** Compiles render-chart.go with the Go libraries of Debian. */
export async function startChartRenderer(): Promise<ChartRenderer> {
  const folder = await mkdtemp('/var/tmp/footlight-chart-');
  const program = path.join(folder, 'render');
  // Without GO111MODULE, Go would fetch modules.
  const env = {
    ...process.env,
    GO111MODULE: 'off',
    GOPATH: '/usr/share/gocode',
    GOCACHE: path.join(folder, 'cache'),
  };
  await run('go', ['build', '-o', program, path.join(import.meta.dirname, 'render-chart.go')], { env });
  return {
    async render(values) {
      const { stdout } = await run(program, [CHART, JSON.stringify(values)]);
      const texts = Object.entries(JSON.parse(stdout) as Record<string, string>);
      return Object.fromEntries(
        texts.flatMap(([file, text]) => {
          const object: KubernetesObject | null = file.endsWith('.yaml') ? parse(text) : null;
          return object === null ? [] : [[file, object]];
        }),
      );
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Types of the objects that the chart can make, by their kind. PodMonitor is not part of Kubernetes. */
const TYPES: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  Ingress: 'networking/v1',
  PersistentVolumeClaim: 'core/v1',
  PodDisruptionBudget: 'policy/v1',
  Service: 'core/v1',
  ServiceAccount: 'core/v1',
};

/**
 * Compares objects with the types of Kubernetes: unknown, missing and wrong fields.
 * @returns messages of the compiler, empty if the objects fit
 */
export async function wrongFields(objects: readonly KubernetesObject[]): Promise<string> {
  const folder = await mkdtemp(path.join(repositoryRoot, 'node_modules/.cache-chart-'));
  try {
    const file = path.join(folder, 'objects.ts');
    const known = objects.filter(({ kind }) => kind !== 'PodMonitor');
    const lines = known.map(
      (object) =>
        `(${JSON.stringify(object)}) satisfies import('kubernetes-types/${TYPES[object.kind]}').${object.kind};`,
    );
    await writeFile(file, lines.join('\n'));
    const tsc = path.join(repositoryRoot, 'node_modules/.bin/tsc');
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'esnext'];
    options.push('--moduleResolution', 'bundler');
    return await run(tsc, [...options, file]).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
