/** Completion for bash, made from the commands and their flags. Pure. */
import type { Command } from 'commander';

/**
 * A script that bash reads.
 * @param others commands that are not part of the program
 */
export function bashCompletion(program: Command, others: readonly string[]): string {
  const nouns = program.commands.map((command) => command.name());
  const flagsOf = (command: Command) => [...command.options.map(({ long }) => long ?? ''), '--help'];
  const lists: string[] = [];
  const choices: string[] = [];
  for (const command of program.commands) {
    const verbs = command.commands.map((each) => each.name());
    lists.push(row(`${command.name()} `, verbs.length > 0 ? [...verbs, '--help'] : flagsOf(command)));
    for (const each of command.commands) {
      const path = `${command.name()} ${each.name()}`;
      lists.push(row(path, flagsOf(each)));
      for (const { long, description } of each.options) {
        const [, listed] = /One of: ([\w., -]+?)\./.exec(description) ?? [];
        if (listed !== undefined) choices.push(row(`${path} ${long}`, listed.split(', ')));
      }
    }
    if (verbs.length === 0) lists.push(row(`${command.name()} *`, flagsOf(command)));
  }
  return `# Completion of footlight for bash. Made by: footlight completion bash
_footlight() {
  local words= path= word
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words=${quoted([...nouns, ...others, '--help', '--version'])}
  else
    path=\${COMP_WORDS[1]}
    if ((COMP_CWORD > 2)); then path+=" \${COMP_WORDS[2]}"; else path+=' '; fi
    case "$path \${COMP_WORDS[COMP_CWORD - 1]}" in
${choices.join('\n')}
      *)
        case $path in
${lists.map((line) => `    ${line}`).join('\n')}
        esac
        ;;
    esac
  fi
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o bashdefault -o default -F _footlight footlight
`;
}

const quoted = (words: readonly string[]): string => `'${words.join(' ')}'`;
const row = (path: string, words: readonly string[]): string =>
  `      ${path.endsWith(' *') ? `'${path.slice(0, -1)}'*` : `'${path}'`}) words=${quoted(words)} ;;`;
