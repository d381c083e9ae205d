import {
  askKeeper,
  type Keeper,
  type ServerName,
  ServersUnavailable,
  startKeeper,
  VARIABLES,
} from './servers.ts';

const starting = new Map<ServerName, Promise<void>>();
let address: Promise<string> | undefined;
let own: Keeper | undefined;
let isOver = false;

/**
 * Makes sure that the servers run, and puts their addresses into the environment, so that processes that a test starts have
 * them, too. Call it while a file is loaded: a first start fetches for minutes, and no test's time-out counts then.
 */
export async function useServers(...names: ServerName[]): Promise<void> {
  await Promise.all(names.map((name) => starting.getOrInsertComputed(name, start)));
}

/** @throws Error when no file of this process has asked for the server by {@link useServers} */
export function urlOf(name: ServerName): string {
  if (!starting.has(name)) throw new Error(`${name} was not started: see test/README.md, Servers`);
  return process.env[VARIABLES[name]]!;
}

/**
 * Makes sure that the run has a keeper. Call it before a test starts a server by itself: however this process ends, the keeper ends
 * that server, too.
 */
export async function haveKeeper(): Promise<void> {
  address ??= keeperOfRun();
  await address;
}

async function start(name: ServerName): Promise<void> {
  address ??= keeperOfRun();
  process.env[VARIABLES[name]] = await askKeeper(await address, name);
}

/** The address of the keeper that test/run.ts has started, else of one of this process's own. */
async function keeperOfRun(): Promise<string> {
  if (process.env.TEST_KEEPER) return process.env.TEST_KEEPER;
  own = await startKeeper({ runId: process.env.TEST_RUN_ID! });
  own.failed.catch((error) => {
    if (isOver) return;
    // A missing prerequisite is one line; anything else needs its stack.
    console.error(error instanceof ServersUnavailable ? error.message : error);
    process.exit(1);
  });
  return own.address;
}

/** Stops the servers that this process has asked its own keeper for. */
export async function stopServers(): Promise<void> {
  isOver = true;
  await own?.stop();
}
