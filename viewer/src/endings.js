/** Describes how a process ended. */

/** Linux signal names by number. */
const SIGNALS = (
  ' HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU ' +
  'XFSZ VTALRM PROF WINCH POLL PWR SYS'
)
  .split(' ')
  .map((name) => (name ? `SIG${name}` : undefined));

/** Describes the end of a process in the words of the reports. @param {import('./data.js').Death} death */
function deathText({ signal, exit_status: status, oom }) {
  if (oom === 'kernel') return 'OOM-killed by the kernel';
  if (oom === 'cgroup') return 'SIGKILL while its cgroup counted an OOM kill';
  return signal === undefined ? `exit status ${status}` : (SIGNALS[signal] ?? `signal ${signal}`);
}

/** @param {import('./data.js').Log} log @returns {{ text: string, bad?: boolean }} */
export function ending(log) {
  if (log.running) return { text: 'still running' };
  if (log.death) return { text: `ended: ${deathText(log.death)}`, bad: log.death.exit_status !== 0 };
  if (log.end === 'recovered') return { text: 'killed, or ended by exit_group', bad: true };
  return log.end ? { text: `ended by ${log.end}` } : { text: 'the log has no end', bad: true };
}
