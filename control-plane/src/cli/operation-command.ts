/** Commands that are made from the declaration of an operation. */
import { createWriteStream, readFileSync, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorText } from '@footlight/platform';
import { ERRORS, type ErrorCode, type Operation } from '@footlight/protocol/rest';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Client, SendOptions } from './client.ts';
import type { CommandRow } from './commands.ts';
import { EXIT, type ExitCode, wrongUsage } from './failure.ts';
import { flagsOf, hasSecretBody, type OperationFlag, parseValue } from './flags.ts';
import { idOf, isPaged, listAll, MAX_ROWS } from './pages.ts';
import { type ApiRequest, requestOf } from './request.ts';
import { answerLines, rowLines, rowsIn, simpleFieldsOf } from './show.ts';
import { readSecret } from './sign-in.ts';
import { printJson, printLines, type Terminal } from './terminal.ts';

/** Runs a function with a client that is closed afterwards. */
export type WithClient = (run: (client: Client) => Promise<ExitCode>) => Promise<void>;

interface Given {
  readonly json?: true;
  readonly body?: string;
  readonly limit?: number;
  readonly file?: string;
  readonly contentType?: string;
  readonly output?: string;
  readonly credentialFile?: string;
  readonly nodeName?: string;
  readonly [flag: string]: unknown;
}

const EVENT_STREAM = 'text/event-stream';
const isDownload = ({ contentType }: Operation) => contentType !== undefined && contentType !== EVENT_STREAM;

/**
 * Adds arguments, flags, help and action of an operation to a command.
 * @param row null: a command of `footlight api`, whose path parameters are flags too
 * @param handle what happens with the request; left out: it is sent, and its answer is shown
 */
export function addOperation(
  command: Command,
  operation: Operation,
  row: CommandRow | null,
  terminal: Terminal,
  withClient: WithClient,
  handle?: (client: Client, request: ApiRequest, isJson: boolean) => Promise<ExitCode>,
): void {
  const isList = row !== null && isPaged(operation);
  const flags = flagsOf(operation).filter(({ field, place }) => {
    if (row === null || place === 'path') return true;
    if (isList && (field === 'cursor' || field === 'limit')) return false;
    return row.sets?.[field] === undefined && (row.only?.includes(field) ?? true);
  });
  const isArgument = (flag: OperationFlag) => row !== null && flag.place === 'path';
  command.description(operation.summary).addHelpText('after', helpAfter(operation));
  const options = new Map<OperationFlag, Option>();
  for (const flag of flags) {
    if (isArgument(flag)) {
      const isNamed = row?.named !== undefined && flag === flags[0];
      command.argument(`<${flag.name}>`, isNamed ? `Id or name of the ${row?.named}.` : flag.description);
      continue;
    }
    const option = optionOf(flag);
    options.set(flag, option);
    command.addOption(option);
    if (flag.kind === 'boolean') command.addOption(new Option(`--no-${flag.name}`, 'The opposite.'));
  }
  addCommonOptions(command, operation, isList);
  command.action(async (...all: unknown[]) => {
    const given = command.opts<Given>();
    const texts = all.slice(0, command.registeredArguments.length) as string[];
    await withClient(async (client) => {
      const values = new Map<OperationFlag, unknown>();
      for (const [index, flag] of flags.filter(isArgument).entries()) {
        const text = texts[index] ?? '';
        const isNamed = row?.named !== undefined && index === 0;
        values.set(flag, isNamed ? await idOf(client, row.named, text) : text);
      }
      for (const [flag, option] of options) {
        const value = given[option.attributeName()];
        if (value !== undefined) values.set(flag, await flagValue(terminal, flag, value));
      }
      const whole = await wholeBody(terminal, operation, given.body);
      for (const flag of flags) {
        const isGiven = values.has(flag) || (flag.place === 'body' && whole !== undefined);
        if (flag.isRequired && !isGiven) throw wrongUsage(`--${flag.name} is missing.`);
      }
      const fixed = row?.sets === undefined ? whole : { ...(whole as object | undefined), ...row.sets };
      if (isList)
        return showList(
          terminal,
          await listAll(client, operation, values, given.limit ?? MAX_ROWS),
          row,
          given,
        );
      const request = requestOf(operation, values, fixed);
      return handle?.(client, request, given.json === true) ?? runOnce(terminal, client, request, row, given);
    });
  });
}

function optionOf(flag: OperationFlag): Option {
  const takes = { text: 'text', list: 'text', number: 'number', json: 'json', secret: 'file', boolean: '' }[
    flag.kind
  ];
  const notes = [
    flag.description,
    flag.kind === 'list' ? 'Repeat the flag for more.' : '',
    flag.kind === 'json' ? 'JSON, or @FILE.' : '',
    flag.kind === 'secret' ? 'The file contains the value; - reads it from standard input.' : '',
    flag.choices === null ? '' : `One of: ${flag.choices.join(', ')}.`,
    flag.isRequired ? '(required)' : '',
  ];
  const option = new Option(
    takes === '' ? `--${flag.name}` : `--${flag.name} <${takes}>`,
    notes.filter((note) => note !== '').join(' '),
  );
  if (flag.kind === 'boolean' || flag.kind === 'secret' || flag.kind === 'json') return option;
  return option.argParser((text: string, before: unknown) => {
    if (flag.choices !== null && !flag.choices.includes(text))
      throw new InvalidArgumentError(`It is one of ${flag.choices.join(', ')}.`);
    try {
      const value = parseValue(flag, text);
      return flag.kind === 'list' ? [...((before as unknown[] | undefined) ?? []), value] : value;
    } catch (error) {
      throw new InvalidArgumentError(errorText(error));
    }
  });
}

function addCommonOptions(command: Command, operation: Operation, isList: boolean): void {
  if (operation.body !== undefined)
    command.option(
      '--body <json>',
      hasSecretBody(operation)
        ? 'Whole body: @FILE, or - for standard input. Flags replace its members.'
        : 'Whole body: JSON, @FILE, or - for standard input. Flags replace its members.',
    );
  if (isList)
    command.option('--limit <number>', 'Rows to show; left out: all of them.', (text: string) => {
      const limit = Number(text);
      if (!Number.isSafeInteger(limit) || limit < 1)
        throw new InvalidArgumentError('It takes a number from 1 up.');
      return Math.min(limit, MAX_ROWS);
    });
  if (operation.upload !== undefined) {
    command.requiredOption('--file <file>', 'The file to upload.');
    command.option(
      '--content-type <type>',
      'Its media type.',
      operation.upload.mediaType.replace('*', 'octet-stream'),
    );
  }
  if (isDownload(operation)) command.option('--output <file>', 'New file for the answer.');
  else command.option('--json', isList ? 'Print one JSON array.' : 'Print the answer as JSON.');
  if (CREDENTIAL_HEADERS[operation.auth] !== undefined)
    command.requiredOption('--credential-file <file>', `File with the ${operation.auth} of this operation.`);
  if (operation.auth === 'node') command.option('--node-name <text>', 'Name of the host.');
}

/** Headers of callers that are not signed in as people. */
const CREDENTIAL_HEADERS: Partial<Record<Operation['auth'], string>> = {
  'setup-token': 'x-service-setup-token',
  'dev-key': 'x-service-dev-key',
  node: 'authorization',
};

function helpAfter(operation: Operation): string {
  const refusals = Object.entries(operation.refusals ?? {}) as [ErrorCode, string][];
  const lines = [
    ...(operation.description === undefined ? [] : ['', operation.description]),
    ...(operation.deprecated ? ['', 'Deprecated.'] : []),
    '',
    `Operation ${operation.id}: ${operation.method} ${operation.path}`,
    ...(refusals.length > 0 ? ['', 'Refusals:'] : []),
    ...refusals.map(([code, when]) => `  ${code} (${ERRORS[code].status}): ${when}`),
  ];
  return lines.join('\n');
}

/** The value of a flag. Files are read here. */
async function flagValue(terminal: Terminal, flag: OperationFlag, given: unknown): Promise<unknown> {
  if (flag.kind === 'secret') return readSecret(terminal, String(given));
  if (flag.kind !== 'json') return given;
  return jsonOf(await textOf(terminal, String(given)), `--${flag.name}`);
}

async function wholeBody(terminal: Terminal, operation: Operation, given: string | undefined) {
  if (given === undefined) return undefined;
  const isArgument = given !== '-' && !given.startsWith('@');
  if (isArgument && hasSecretBody(operation))
    throw wrongUsage(
      'This body contains a secret, and all users of this machine can read arguments.',
      'Write the body into a file and use --body @FILE, or use --body - for standard input.',
    );
  return jsonOf(await textOf(terminal, given), '--body');
}

async function textOf(terminal: Terminal, given: string): Promise<string> {
  if (given === '-') return terminal.readInput();
  return given.startsWith('@') ? readFile(given.slice(1)).toString('utf8') : given;
}

function readFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw wrongUsage(errorText(error));
  }
}

function jsonOf(text: string, flag: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message would show a part of the text.
    throw wrongUsage(`${flag} is not JSON.`);
  }
}

function showList(
  terminal: Terminal,
  { rows, isCut }: Awaited<ReturnType<typeof listAll>>,
  row: CommandRow | null,
  given: Given,
): ExitCode {
  if (given.json) printJson(terminal, rows);
  else
    printLines(terminal, rowLines(row?.columns ?? simpleFieldsOf(rows as object[]), rows, terminal.timeZone));
  if (isCut && !given.json) terminal.err(`There are more than ${rows.length} rows.\n`);
  return EXIT.success;
}

async function runOnce(
  terminal: Terminal,
  client: Client,
  request: ApiRequest,
  row: CommandRow | null,
  given: Given,
): Promise<ExitCode> {
  const { operation } = request;
  if (operation.websocket)
    throw wrongUsage(`${operation.id} is a WebSocket. The command line cannot speak it.`);
  const options = await sendOptions(terminal, operation, given);
  if (operation.contentType === EVENT_STREAM) return showEvents(terminal, client, request, options);
  if (isDownload(operation)) return download(terminal, client, request, options, given.output);
  const { status, body } = await client.call(request, options);
  if (given.json) printJson(terminal, body);
  else if (row?.columns !== undefined)
    printLines(terminal, rowLines(row.columns, rowsIn(body), terminal.timeZone));
  else printLines(terminal, answerLines(body, terminal.timeZone));
  // An operation can declare an answer that reports a failure, such as the health check.
  return status < 400 ? EXIT.success : EXIT.failed;
}

async function sendOptions(terminal: Terminal, operation: Operation, given: Given): Promise<SendOptions> {
  const header = CREDENTIAL_HEADERS[operation.auth];
  const headers = {
    ...(header !== undefined && { [header]: await readSecret(terminal, given.credentialFile ?? '') }),
    ...(given.nodeName !== undefined && { 'x-service-node': given.nodeName }),
    ...(given.contentType !== undefined && { 'content-type': given.contentType }),
  };
  return {
    headers,
    signal: terminal.interrupted,
    ...(given.file !== undefined && { file: readFile(given.file) }),
  };
}

async function download(
  terminal: Terminal,
  client: Client,
  request: ApiRequest,
  options: SendOptions,
  output: string | undefined,
): Promise<ExitCode> {
  const isText = request.operation.contentType?.startsWith('text/') ?? false;
  if (output === undefined && terminal.isScreen && !isText)
    throw wrongUsage('The answer is a file, which a terminal cannot show.', 'Use --output FILE.');
  const parts = await client.stream(request, options);
  if (output !== undefined) return save(terminal, parts, output);
  if (!terminal.isScreen) for await (const part of parts) await terminal.outBytes(part);
  else {
    const decoder = new TextDecoder();
    for await (const part of parts) terminal.out(decoder.decode(part, { stream: true }));
  }
  return EXIT.success;
}

async function save(terminal: Terminal, parts: AsyncIterable<Uint8Array>, output: string): Promise<ExitCode> {
  // Only the owner may read it, and it replaces no file.
  const file = createWriteStream(output, { flags: 'wx', mode: 0o600 });
  let isMade = false;
  file.once('open', () => {
    isMade = true;
  });
  try {
    await pipeline(Readable.from(parts), file);
  } catch (error) {
    if (isMade) rmSync(output, { force: true });
    throw error;
  }
  terminal.err(`Saved to ${output}.\n`);
  return EXIT.success;
}

/** The longest line of an event stream; a longer one ends the command. */
const MAX_EVENT_CHARACTERS = 1024 * 1024;

/** Prints the data of each event as one line of JSON, until the stream ends or the person presses Ctrl-C. */
async function showEvents(
  terminal: Terminal,
  client: Client,
  request: ApiRequest,
  options: SendOptions,
): Promise<ExitCode> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const part of await client.stream(request, options)) {
      const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_EVENT_CHARACTERS) throw wrongUsage('An event is too long.');
      for (const line of lines) if (line.startsWith('data:')) terminal.out(`${line.slice(5).trim()}\n`);
    }
  } catch (error) {
    if (!terminal.interrupted.aborted) throw error;
  }
  return EXIT.success;
}
