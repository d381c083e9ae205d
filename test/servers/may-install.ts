/**
 * Whether a package may be installed and a system user be added, as root. `TEST_INSTALL` decides (`yes` or `no`); without it, yes,
 * unless somebody sits at a terminal: the machine is theirs then. CI and scripts have no terminal.
 */
export function mayInstall(): boolean {
  const { TEST_INSTALL, CI } = process.env;
  if (TEST_INSTALL) return TEST_INSTALL === 'yes';
  return Boolean(CI) || !process.stdin.isTTY;
}
