import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { below, controlVariables, read } from './modules.ts';

const { version } = JSON.parse(read('control-plane/package.json')) as { version: string };
const CHART = 'deploy/helm/footlight';
const NAME = /\b(?:SERVICE|BOOTSTRAP|OTEL)_[A-Z0-9_]+\b|\b(?:DATABASE_URL|PUBLIC_BASE_URL|CONTROL_PORT)\w*/g;

interface Compose {
  services: Record<string, { image: string; ports?: string[]; env_file?: string }>;
}

describe('deploy: every variable exists', () => {
  const files = [...below('deploy/container'), ...below('deploy/helm')];
  test.each(files)('in %s', (file) => {
    const known = controlVariables();
    const unknown = (read(file).match(NAME) ?? []).filter(
      (name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')),
    );
    expect(unknown).toEqual([]);
  });
});

describe('deploy: the files name this version', () => {
  test.each(['compose.yaml', 'compose.replicas.yaml'])('%s', (file) => {
    const { services } = parse(read(`deploy/container/${file}`), { merge: true }) as Compose;
    const ours = Object.values(services).filter((service) => service.env_file === 'control.env');
    expect(ours.length).toBeGreaterThan(0);
    for (const { image } of ours) expect(image).toBe(`localhost/footlight-control:${version}`);
  });

  test('the chart', () => {
    expect(parse(read(`${CHART}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
  });
});

test('HAProxy of compose.replicas.yaml has each control plane', () => {
  const { services } = parse(read('deploy/container/compose.replicas.yaml'), { merge: true }) as Compose;
  const servers = [...read('deploy/container/haproxy.cfg').matchAll(/^ *server \S+ (\S+):8080$/gm)];
  expect(servers.map(([, name]) => name)).toEqual(
    Object.keys(services).filter((name) => name.startsWith('control')),
  );
});

describe('the schema of the chart', () => {
  const validate = new Ajv({ allErrors: true }).compile(JSON.parse(read(`${CHART}/values.schema.json`)));
  const values = () => parse(read(`${CHART}/values.yaml`)) as Record<string, object>;

  test('accepts the values of the chart, and describes all of them', () => {
    validate(values());
    expect(validate.errors).toBeNull();
  });

  test.each([
    ['an unknown name', { replica: 2 }, ''],
    ['a number as a text', { replicas: '2' }, '/replicas'],
    ['an unknown database', { database: 'mysql' }, '/database'],
    ['a variable that is no text', { env: { SERVICE_DRAIN_SECS: 5 } }, '/env/SERVICE_DRAIN_SECS'],
    ['an address without a scheme', { publicUrl: 'footlight.example.org' }, '/publicUrl'],
    ['an unknown name inside', { tls: { enable: true } }, '/tls'],
  ])('refuses %s', (_what, override, place) => {
    expect(validate({ ...values(), ...override })).toBe(false);
    expect(validate.errors?.map(({ instancePath }) => instancePath)).toEqual([place]);
  });
});
