import { PasswordInput, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { t } from '../i18n/translate.ts';
import {
  emailProblem,
  passwordHint,
  passwordProblem,
  passwordRefusal,
  usernameProblem,
} from './field-rules.ts';

/** Fields of a new account. */
export interface NewAccount {
  email: string;
  username: string;
  password: string;
}

/** Rules of a new account for the form library. */
export const newAccountRules = {
  email: emailProblem,
  username: usernameProblem,
  password: (password: string, all: NewAccount) => passwordProblem(password, all),
};

/** Email, name and password, labelled for password managers. */
export function NewAccountFields<Values extends NewAccount>({
  form,
  refused,
  first = true,
}: {
  form: UseFormReturnType<Values>;
  /** error of the last attempt; null: no error */
  refused: unknown;
  /** no other field is above these fields, so they get the first focus */
  first?: boolean;
}) {
  return (
    <>
      <TextInput
        label={t('Email')}
        type="email"
        autoFocus={first}
        autoComplete="email"
        inputMode="email"
        key={form.key('email')}
        {...form.getInputProps('email')}
      />
      <TextInput
        label={t('Name')}
        description={t('Shown to administrators and on your screen.')}
        autoComplete="username"
        key={form.key('username')}
        {...form.getInputProps('username')}
      />
      <PasswordInput
        label={t('Password')}
        description={passwordHint()}
        autoComplete="new-password"
        key={form.key('password')}
        {...form.getInputProps('password')}
        {...(passwordRefusal(refused) === null ? {} : { error: passwordRefusal(refused) })}
      />
    </>
  );
}
