// Small helpers of the scripts: only Node's own modules, since they run before anything is installed.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The repository, with a slash at its end. */
export const root = new URL("../../", import.meta.url);
export const rootPath = fileURLToPath(root);

/** Whether `flag` stands on the command line. */
export const hasFlag = (flag) => process.argv.slice(2).includes(flag);

/** Between asking a group to end and ending it. */
const GRACE_MILLIS = 3_000;

const groups = new Set();
const killAll = (signal) => groups.forEach((pid) => kill(pid, signal));
process.on("exit", () => killAll("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.exit(130));
}

function kill(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended by itself.
  }
}

/**
 * Runs a program and waits for it. It and everything it starts is one process group, killed as a whole when
 * `timeout` (milliseconds) has passed or this process ends: a browser left behind would hang the machine.
 *
 * Resolves to `{ code, output, timedOut }`; `check` (default) makes a failure an exception. `quiet` keeps the
 * output back unless it fails.
 */
export async function run(program, args, { env, cwd = rootPath, timeout = 0, check = true, quiet = false } = {}) {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    detached: process.platform !== "win32",
    stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
  });
  const chunks = [];
  child.stdout?.on("data", (chunk) => chunks.push(chunk));
  child.stderr?.on("data", (chunk) => chunks.push(chunk));
  if (child.pid !== undefined) groups.add(child.pid);
  let timedOut = false;
  const timer = timeout && setTimeout(() => {
    timedOut = true;
    // Asked first: drivers close browsers of other groups when told to end.
    kill(child.pid, "SIGTERM");
    setTimeout(() => kill(child.pid, "SIGKILL"), GRACE_MILLIS).unref();
  }, timeout);
  const code = await new Promise((resolve) => {
    child.on("error", (error) => {
      chunks.push(Buffer.from(`${program}: ${error.message}\n`));
      resolve(127);
    });
    // "close" would wait for grandchildren that inherited the pipes; "exit" and a kill of the group do not.
    child.on("exit", (status, signal) => setTimeout(() => resolve(status ?? (signal ? 128 : 1)), 50));
  });
  clearTimeout(timer);
  if (child.pid !== undefined) {
    kill(child.pid, "SIGKILL");
    groups.delete(child.pid);
  }
  const output = Buffer.concat(chunks).toString();
  if (check && code !== 0) {
    if (quiet) process.stderr.write(output);
    throw new Error(`${program} ${args.join(" ")}: ${timedOut ? `no end after ${timeout / 1000} s` : `exit status ${code}`}`);
  }
  return { code, output, timedOut };
}
