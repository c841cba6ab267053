// Runs the commands of a tier, and counts the tests that passed and failed.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { root } from '../lib/prepare.mjs';
import { filesToRetry } from './retry.mjs';
import { bin, sourceChecks } from './sources.mjs';

/** @typedef {import('./report.mjs').Report} Report */
/** @typedef {import('./report.mjs').Failure} Failure */
/** @typedef {import('./tiers.mjs').Suite} Suite */
/** @typedef {import('./tiers.mjs').Tier} Tier */

/**
 * Folder for evidence of failed tests: logs, screenshots, and the list of files in which a wait expired. Ignored by
 * git.
 */
const results = path.join(root, 'test-results');

export function emptyResults() {
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results);
}

export const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);

/** Largest part of a command's output that is kept, in characters from its end. */
const KEPT_OUTPUT = 1024 * 1024;

/** Largest part of the output that is printed after a failure. All of the kept output is in a file. */
const SHOWN_OUTPUT = 16 * 1024;

/** Start of vitest's report of failures. */
const FAILURES = /⎯+ Failed (Suites|Tests) /;

/** One run of the test command: its environment, its folder for reports, and its counts. */
export class TestRun {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** One line for each failure, with the command that repeats the test. @type {string[]} */
  problems = [];
  /**
   * Files in which a wait expired, but which passed when they were retried: `FLAKY FILE: TEST: MESSAGE`.
   * @type {string[]}
   */
  flaky = [];
  /** @type {NodeJS.ProcessEnv} */
  #env;
  #scratch;
  #memory;
  #reports = 0;

  /**
   * The caller removes both folders.
   * @param {NodeJS.ProcessEnv} env
   * @param {string} scratch  for reports
   * @param {string} [memory] in-memory temporary folder for suites that may use it; missing: the folder of env is used
   */
  constructor(env, scratch, memory) {
    this.#env = { ...env, FOOTLIGHT_TEST_RESULTS: results };
    this.#scratch = scratch;
    this.#memory = memory;
  }

  /** @param {Tier} tier */
  async run(tier) {
    for (const step of tier) {
      await Promise.all(
        step.map(async (lane) => {
          for (const suite of lane) await (suite === 'sources' ? this.checkSources() : this.vitest(suite));
        }),
      );
    }
  }

  /** @param {boolean} [fix] */
  async checkSources(fix = false) {
    for (const { name, commands, env } of sourceChecks(fix)) {
      const from = performance.now();
      let failure = '';
      for (const command of commands) {
        const { code, output } = await this.#execute(command, env, false);
        if (code !== 0) failure += output;
      }
      if (failure !== '') say(failure);
      this.record(name, failure === '' ? [] : [`${name}: see above (scripts/check)`], from);
    }
  }

  /**
   * Records the result of a check that is not a vitest test, and prints a line about it.
   * @param {string} name
   * @param {readonly string[]} problems
   * @param {number} [from] performance.now() at its start
   */
  record(name, problems, from) {
    this[problems.length === 0 ? 'passed' : 'failed']++;
    this.problems.push(...problems);
    const time = from === undefined ? '' : ` (${seconds(from)})`;
    say(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${name}${time}`);
  }

  /** Runs vitest once and counts each test. @param {Suite} suite */
  async vitest(suite) {
    const from = performance.now();
    say(`       ${suite.name} …`);
    let report = await this.#report(suite, suite.words, suite.name);
    const late = suite.retried ? filesToRetry(report.failures) : [];
    if (late.length > 0) report = await this.#retry(suite, report, late);
    const problems = report.failures.map(
      ({ file, test, message }) => `${file}: ${test}: ${message}\n    scripts/test ${file}`,
    );
    // Errors outside tests count as failures too, because no test reports them.
    problems.push(...report.unhandled.map((error) => `${suite.name}: outside a test: ${error}`));
    this.passed += report.passed;
    this.failed += problems.length;
    this.skipped += report.skipped;
    this.problems.push(...problems);
    say(
      `${problems.length === 0 ? 'ok    ' : 'FAILED'} ${suite.name}: ${report.passed} passed, ${problems.length} failed, ${report.skipped} skipped (${seconds(from)})`,
    );
    const slowest = slowFiles(report.files);
    if (slowest.length > 0) say(`       slowest: ${slowest.join(', ')}`);
  }

  /** Prints warnings, for scripts/check. They are never counted as failures. */
  async warnings() {
    const { failures } = await this.#report(
      { name: 'warnings', words: [] },
      ['--project', 'warnings'],
      'warnings',
    );
    return failures;
  }

  /**
   * Runs the files in which a wait expired once more, completely. Each file starts a new stack.
   * @param {Suite} suite
   * @param {Report} first
   * @param {readonly string[]} late
   * @returns {Promise<Report>} combined report of both runs
   */
  async #retry(suite, first, late) {
    const load = os.loadavg().map((value) => Number(value.toFixed(2)));
    say(`       once more, because a wait expired: ${late.join(', ')}`);
    const again = await this.#report(suite, [...suite.words, ...late], `${suite.name}, once more`);
    const failedAgain = new Set(again.failures.map(({ file }) => file));
    for (const { file, test, message } of first.failures) {
      if (!late.includes(file)) continue;
      const passed = !failedAgain.has(file) && again.unhandled.length === 0;
      const row = { at: new Date().toISOString(), file, test, message, passed_then: passed, load };
      appendFileSync(
        path.join(results, 'flaky.jsonl'),
        `${JSON.stringify({ ...row, cores: os.cpus().length })}\n`,
      );
      if (passed) this.flaky.push(`FLAKY ${file}: ${test}: ${message}`);
    }
    const others = first.failures.filter(({ file }) => !late.includes(file));
    return {
      // Tests of a retried file that passed in both runs count twice in `passed`, because reports do not contain the
      // names of passed tests.
      passed: first.passed + again.passed,
      skipped: first.skipped + again.skipped,
      failures: [...others, ...again.failures],
      unhandled: [...first.unhandled, ...again.unhandled],
      files: first.files,
    };
  }

  /** @param {Suite} suite @param {string[]} words @param {string} name @returns {Promise<Report>} */
  async #report(suite, words, name) {
    const target = path.join(this.#scratch, `report-${this.#reports++}.json`);
    const reporters = ['dot', path.join(root, 'scripts/test-run/report.mjs')];
    const { code, output } = await this.#execute(
      [bin('vitest'), 'run', ...words, ...reporters.map((reporter) => `--reporter=${reporter}`)],
      {
        ...suite.env,
        FOOTLIGHT_TEST_REPORT: target,
        ...(suite.inMemory && this.#memory !== undefined ? { TMPDIR: this.#memory } : {}),
      },
      suite.background ?? false,
    );
    if (code !== 0) {
      // scripts/check in a fresh clone: no run of tests has made the folder yet.
      mkdirSync(results, { recursive: true });
      const log = path.join(results, `${name.replaceAll(/[^a-z]+/g, '-')}.log`);
      writeFileSync(log, output);
      const report = output.slice(Math.max(0, output.search(FAILURES)));
      say(report.length > SHOWN_OUTPUT ? `${report.slice(0, SHOWN_OUTPUT)}\n…` : report);
      say(`       the whole output: ${path.relative(root, log)}`);
    }
    /** @type {Report} */
    const report = existsSync(target)
      ? JSON.parse(readFileSync(target, 'utf8'))
      : { passed: 0, skipped: 0, failures: [], unhandled: [], files: [] };
    if (code !== 0 && report.failures.length === 0 && report.unhandled.length === 0)
      report.unhandled.push(`the test runner ended with ${code} although no test failed`);
    return report;
  }

  /**
   * Runs a command without showing its output; its descriptor 3 is shown (report.mjs).
   * @param {string[]} command
   * @param {Record<string, string>} env
   * @param {boolean} background true: run with nice 10; the command still gets a tenth of a busy core, so its time
   * limits are not reached
   * @returns {Promise<{code: number, output: string}>}
   */
  #execute(command, env = {}, background) {
    return new Promise((resolve) => {
      const [program = '', ...words] = background ? ['nice', '-n', '10', ...command] : command;
      const child = spawn(program, words, {
        cwd: root,
        env: { ...this.#env, ...env },
        stdio: ['inherit', 'pipe', 'pipe', 1],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding('utf8').on('data', (text) => {
          output = (output + text).slice(-KEPT_OUTPUT);
        });
      child.once('error', (error) => resolve({ code: 127, output: `${program}: ${error.message}` }));
      // `close` is used, because it follows the last output.
      child.once('close', (code, signal) =>
        resolve({ code: code ?? (signal ? 1 : 0), output: stripVTControlCharacters(output) }),
      );
    });
  }
}

/** @param {number} from */
const seconds = (from) => `${((performance.now() - from) / 1000).toFixed(0)} s`;

/** The five slowest files, which are the first to look at if a run becomes slow. @param {Report['files']} files */
const slowFiles = (files) =>
  files
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, 5)
    .map(({ file, seconds }) => `${file} ${seconds.toFixed(0)} s`);
