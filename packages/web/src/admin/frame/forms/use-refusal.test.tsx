// @vitest-environment happy-dom
import { MantineProvider, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiFailure } from '../../../api/client.ts';
import { refusedField } from './refused-field.ts';
import { useRefusal } from './use-refusal.ts';

const refusal = (status: number, message: string) =>
  new ApiFailure(status, status === 409 ? 'conflict' : 'validation_failed', message);

describe('a refusal of the server', () => {
  const fields = ['image', 'name', 'nodeName', 'days', 'abr_floor_kbps'];
  const aliases = { node_name: 'nodeName', expires_at: 'days' };

  test.each<[string, number, string, [string, string] | null]>([
    ['of a field', 400, 'name: at most 63 characters', ['name', 'At most 63 characters']],
    ['of something taken', 409, 'name: another one has it', ['name', 'Another one has it']],
    ['of a part', 400, 'runtime_spec.image: no image', ['image', 'No image']],
    ['of another name', 400, 'node_name: not a name', ['nodeName', 'Not a name']],
    [
      'of two settings',
      400,
      'abr_floor_kbps (9) is above it',
      ['abr_floor_kbps', 'abr_floor_kbps (9) is above it'],
    ],
    ['of another field', 400, 'cover_url: no path', null],
    ['of no field', 409, 'Sessions are still on this host.', null],
    ['of the server', 500, 'name: it broke', null],
    ['of a longer name', 400, 'names: too many', null],
  ])('%s', (_what, status, message, found) => {
    const expected = found === null ? null : { field: found[0], label: found[1] };
    expect(refusedField(refusal(status, message), fields, aliases)).toEqual(expected);
  });

  test('without an answer of the server is about no field', () => {
    expect(refusedField(new Error('name: it broke'), fields)).toBeNull();
  });
});

function Form({ error }: { error: unknown }) {
  const form = useForm({ mode: 'uncontrolled', initialValues: { name: '', note: '' } });
  const rest = useRefusal(form, error);
  return (
    <form>
      <TextInput label="Note" key={form.key('note')} {...form.getInputProps('note')} />
      <TextInput label="Name" key={form.key('name')} {...form.getInputProps('name')} />
      {rest !== null && <p>elsewhere</p>}
    </form>
  );
}

describe('a form', () => {
  afterEach(cleanup);

  const show = (error: unknown) =>
    render(
      <MantineProvider>
        <Form error={error} />
      </MantineProvider>,
    );

  test('is shown at its field, which gets the focus, until the field is changed', async () => {
    show(refusal(409, 'name: another one has it'));
    const field = screen.getByLabelText('Name');
    await waitFor(() => expect(document.activeElement).toBe(field));
    screen.getByText('Another one has it');
    expect(screen.queryByText('elsewhere')).toBeNull();
    fireEvent.change(field, { target: { value: 'x' } });
    await waitFor(() => expect(screen.queryByText('Another one has it')).toBeNull());
  });

  test('that is about no field is left to the page', () => {
    show(refusal(409, 'Sessions are still on this host.'));
    screen.getByText('elsewhere');
  });
});
