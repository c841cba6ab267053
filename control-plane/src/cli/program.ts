/** The command line: all commands, and what happens to errors. */
import { errorText } from '@footlight/platform';
import { type Operation, operations } from '@footlight/protocol/rest';
import { Argument, Command, CommanderError } from 'commander';
import { RELEASE } from '../install-location.ts';
import { writeBundle } from './bundle.ts';
import { certify } from './certify.ts';
import { CERTIFY, COMMANDS, LOCAL_COMMANDS, NOUNS } from './commands.ts';
import { bashCompletion } from './completion.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import { addOperation, type WithClient } from './operation-command.ts';
import { showDoctor, showStatus } from './overview.ts';
import { type LoginOptions, login, logout, openClient } from './sign-in.ts';
import type { Terminal } from './terminal.ts';

const EXIT_CODES = `Exit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 not signed in or not allowed,
4 the control plane cannot be reached.`;

/** Runs one command. @param words arguments after the program's name @returns the exit code; never rejects */
export async function run(words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const outcome: { exitCode: ExitCode } = { exitCode: EXIT.success };
  const program = createProgram(terminal, outcome);
  try {
    await program.parseAsync(words, { from: 'user' });
    return outcome.exitCode;
  } catch (error) {
    return reported(terminal, error);
  }
}

function reported(terminal: Terminal, error: unknown): ExitCode {
  if (error instanceof CommanderError) {
    const isHelp = error.code === 'commander.helpDisplayed' || error.code === 'commander.version';
    return isHelp ? EXIT.success : EXIT.usage;
  }
  if (terminal.interrupted.aborted) {
    terminal.err('Interrupted.\n');
    return EXIT.failed;
  }
  if (!(error instanceof CliFailure)) {
    terminal.err(`Error: ${errorText(error)}\n`);
    return EXIT.failed;
  }
  terminal.err(`Error: ${error.message} (${error.code})\n`);
  const { code: _code, message: _message, ...details } = error.refusal ?? {};
  for (const [name, value] of Object.entries(details)) terminal.err(`  ${name}: ${JSON.stringify(value)}\n`);
  if (error.remedy !== null) terminal.err(`${error.remedy}\n`);
  return error.exitCode;
}

/** @param outcome gets the exit code of the command that ran */
export function createProgram(terminal: Terminal, outcome: { exitCode: ExitCode }): Command {
  const program = new Command('footlight')
    .description('Administers a Footlight instance over its HTTP API.')
    .version(RELEASE, '--version', 'Print the release of this program.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
    })
    .showHelpAfterError('Add --help for the flags.')
    .addHelpText('after', localHelp());
  const withClient: WithClient = async (runWith) => {
    const client = openClient(terminal);
    try {
      outcome.exitCode = await runWith(client);
    } finally {
      await client.close();
    }
  };
  addSignIn(program, terminal);
  addOverview(program, terminal, withClient);
  for (const [noun, description] of Object.entries(NOUNS)) {
    const parent = program.command(noun).description(description);
    for (const row of COMMANDS.filter((each) => each.noun === noun))
      addOperation(parent.command(row.verb), operations[row.id], row, terminal, withClient);
  }
  const api = program
    .command('api')
    .description('Call any operation of the HTTP API by its id')
    .addHelpText('after', '\nThe flags come from the contract: footlight api OPERATION --help');
  for (const operation of Object.values<Operation>(operations))
    addOperation(api.command(operation.id), operation, null, terminal, withClient);
  program
    .command('completion')
    .description('Print the completion for a shell: source <(footlight completion bash)')
    .addArgument(new Argument('<shell>').choices(['bash']))
    .action(() => terminal.out(bashCompletion(program, Object.keys(LOCAL_COMMANDS))));
  return program;
}

/** Commands that combine several operations. */
function addOverview(program: Command, terminal: Terminal, withClient: WithClient): void {
  const json = ['--json', 'Print the answer as JSON.'] as const;
  program
    .command('status')
    .description('Show the state of the instance on one screen')
    .option(...json)
    .action(({ json }: { json?: true }) =>
      withClient((client) => showStatus(terminal, client, json === true)),
    );
  program
    .command('doctor')
    .description('Check why something does not work; exit code 1 if something is wrong')
    .option(...json)
    .action(({ json }: { json?: true }) =>
      withClient((client) => showDoctor(terminal, client, json === true)),
    );
  program
    .command('bundle')
    .description('Write an archive for support, without secrets')
    .option('--output <file>', 'New file; left out: footlight-support-TIME.tar.gz.')
    .action(({ output }: { output?: string }) =>
      withClient((client) => writeBundle(terminal, client, output ?? bundleName(terminal.clock.nowMs()))),
    );
  const certification = program.command('certify');
  addOperation(
    certification,
    operations[CERTIFY.id],
    CERTIFY,
    terminal,
    withClient,
    (client, request, isJson) => certify(terminal, client, request, isJson),
  );
  certification.description('Measure what the encoders of a host sustain, with progress');
}

const bundleName = (nowMs: number): string =>
  `footlight-support-${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}.tar.gz`;

function localHelp(): string {
  const width = Math.max(...Object.keys(LOCAL_COMMANDS).map((name) => name.length));
  return [
    '',
    'Commands for root on the machine of the control plane:',
    ...Object.entries(LOCAL_COMMANDS).map(([name, what]) => `  ${name.padEnd(width)}  ${what}`),
    '',
    'Scripts set FOOTLIGHT_URL and FOOTLIGHT_TOKEN or FOOTLIGHT_TOKEN_FILE instead of signing in.',
    EXIT_CODES,
  ].join('\n');
}

function addSignIn(program: Command, terminal: Terminal): void {
  program
    .command('login')
    .description('Sign in to a control plane; asks for email and password')
    .argument('<url>', 'Address of the control plane, such as https://play.example.org:8443.')
    .option('--email <email>', 'Email of the account.')
    .option('--password-file <file>', 'File with the password; - reads standard input.')
    .option('--token-file <file>', 'File with an access token, instead of a password.')
    .option('--fingerprint <sha256>', 'Accept only the certificate with this fingerprint.')
    .action((url: string, options: LoginOptions) => login(terminal, url, options));
  program
    .command('logout')
    .description('Revoke the stored token and delete it')
    .action(() => logout(terminal));
}
