import type { Job } from '@footlight/protocol/rest';
import { Button, Checkbox, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { INTERVAL_UNITS, type IntervalUnit } from '../frame/interval-labels.ts';
import { intervalProblem, jobBody, jobRules, jobValues, timeProblem } from './job-form-model.ts';
import { DAYS } from './job-labels.ts';

/** Fields of the form by the service's names. */
const FIELDS = { interval_secs: 'count', window_start: 'start', window_end: 'end' };

/** Switch, interval, window and history of a job. */
export function JobForm({ job }: { job: Job }) {
  const queryClient = useQueryClient();
  const { schedule } = job;
  const form = useForm({
    mode: 'controlled',
    initialValues: jobValues(job),
    validate: {
      count: (count, values) =>
        schedule.kind !== 'interval' || schedule.locked
          ? null
          : intervalProblem(count, values.unit as IntervalUnit),
      start: (start, values) => (values.windowed ? timeProblem(start) : null),
      end: (end, values) =>
        values.windowed
          ? (timeProblem(end) ?? (end === values.start ? t('Not the same time as the start') : null))
          : null,
      history_limit: jobRules.history_limit,
    },
  });
  const save = useMutation({
    mutationFn: (values: typeof form.values) => {
      const stored = jobBody(jobValues(job), job);
      return call('admin.jobs.update', {
        params: { job_id: job.id },
        body: changesOf(stored, jobBody(values, job)),
      });
    },
    onMutate: () => notifications.clean(),
    onSuccess: (changed) => {
      queryClient.setQueryData(adminKeys.job(job.id), changed);
      notifications.show({ message: t('{name} was saved', { name: job.name }), autoClose: 4000 });
      return queryClient.invalidateQueries({ queryKey: adminKeys.jobs });
    },
  });
  const refusal = useRefusal(form, save.error, FIELDS);
  const { values } = form;
  return (
    <form
      className={styles.form}
      onSubmit={form.onSubmit((sent) => save.mutate(sent), focusFirstError)}
      noValidate
    >
      <Switch
        label={t('Switched on')}
        description={t(
          'A job that is switched off never runs, not even manually. A run in progress continues.',
        )}
        {...form.getInputProps('enabled', { type: 'checkbox' })}
      />
      {schedule.kind === 'interval' && (
        <>
          <div className={styles.pair}>
            <NumberInput
              label={t('Time between two runs')}
              description={t('From the end of a run to the start of the next run.')}
              min={1}
              allowDecimal={false}
              disabled={schedule.locked}
              {...form.getInputProps('count')}
            />
            <NativeSelect
              label={t('Unit')}
              data={INTERVAL_UNITS.map(({ value, label }) => ({ value, label: t(label) }))}
              disabled={schedule.locked}
              {...form.getInputProps('unit')}
            />
          </div>
          {schedule.locked && (
            <p className={styles.note}>
              {t(
                "{variable} of the server's environment sets this time. To change the time here, remove that variable first.",
                { variable: schedule.locked_by ?? t('A variable') },
              )}
            </p>
          )}
          <Switch
            label={t('Only at certain times')}
            description={t('A run that you start yourself ignores these times.')}
            {...form.getInputProps('windowed', { type: 'checkbox' })}
          />
          {values.windowed && (
            <>
              <div className={styles.pair}>
                <TextInput label={t('From')} type="time" step={60} {...form.getInputProps('start')} />
                <TextInput
                  label={t('To')}
                  type="time"
                  step={60}
                  description={
                    values.end < values.start && values.end !== '' ? t('On the next day.') : undefined
                  }
                  {...form.getInputProps('end')}
                />
                <NativeSelect
                  label={t('Time zone')}
                  data={timeZones(values.timezone)}
                  {...form.getInputProps('timezone')}
                />
              </div>
              <fieldset className={styles.fieldset}>
                <legend>{t('On these days')}</legend>
                <p className={styles.dim}>
                  {t(
                    'If you select no day, the job may run every day. A period that passes midnight belongs to the day on which it starts.',
                  )}
                </p>
                <div className={styles.checkColumns}>
                  {DAYS.map((day, number) => (
                    <Checkbox
                      key={day}
                      label={t(day)}
                      checked={values.days.includes(String(number))}
                      onChange={(event) =>
                        form.setFieldValue(
                          'days',
                          event.currentTarget.checked
                            ? [...values.days, String(number)]
                            : values.days.filter((each) => each !== String(number)),
                        )
                      }
                    />
                  ))}
                </div>
              </fieldset>
            </>
          )}
        </>
      )}
      <NumberInput
        label={t('Runs kept in the history')}
        description={
          job.scope === 'host' ? t('For each host; older runs are deleted.') : t('Older ones are deleted.')
        }
        min={1}
        allowDecimal={false}
        {...form.getInputProps('history_limit')}
      />
      {refusal !== null && <Problem error={refusal} />}
      <div>
        <Button type="submit" variant="filled" loading={save.isPending}>
          {t('Save changes')}
        </Button>
      </div>
    </form>
  );
}

/** Time zones that the browser knows, and the stored one even if the browser does not know it. */
function timeZones(stored: string): string[] {
  return [...new Set(['UTC', stored, ...Intl.supportedValuesOf('timeZone')])];
}
