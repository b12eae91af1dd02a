// The workers of bench/outages for the queues that are written in JavaScript:
// node worker.js SYSTEM
//
// The database is told by PEER_URI, what is equal for every system by BENCH_OUTAGE.
"use strict";

const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");

const packages = createRequire(
  path.join(__dirname, "..", "..", "peers", "node", "driver.js"),
);
const { atOnce, handlerMs, rescueSeconds } = JSON.parse(process.env.BENCH_OUTAGE);

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const tell = (what, n) =>
  fs.writeSync(1, `${what} ${n} ${process.hrtime.bigint()}\n`);

async function handle(n) {
  tell("b", n);
  await sleep(handlerMs);
  tell("e", n);
}

async function graphileWorker() {
  const { run, Logger } = packages("graphile-worker");
  const runner = await run({
    preset: { worker: { concurrentJobs: atOnce, maxPoolSize: atOnce + 1 } },
    connectionString: process.env.PEER_URI,
    logger: new Logger(() => (level, message) => {
      if (level !== "debug" && level !== "info") console.error(level, message);
    }),
    noHandleSignals: true,
    taskList: { noop: ({ n }) => handle(n) },
  });
  return () => runner.stop();
}

async function pgBoss() {
  const PgBoss = packages("pg-boss");
  const boss = new PgBoss({
    connectionString: process.env.PEER_URI,
    schedule: false,
    supervise: true,
    max: 10,
    maintenanceIntervalSeconds: rescueSeconds,
  });
  boss.on("error", (error) => console.error(error.message));
  await boss.start();
  for (let n = 0; n < 4; n++) {
    await boss.work(
      "noop",
      { batchSize: 100, pollingIntervalSeconds: 0.5 },
      (jobs) => Promise.all(jobs.map((job) => handle(job.data.n))),
    );
  }
  return () => boss.stop({ graceful: true, wait: true });
}

const systems = { "graphile-worker": graphileWorker, "pg-boss": pgBoss };

async function main(name) {
  const ended = new Promise((done) => process.stdin.on("end", done));
  const go = new Promise((done) => process.stdin.once("data", done));
  fs.writeSync(1, "ready\n");
  await go;
  const stop = await systems[name]();
  await ended;
  await stop();
  process.exit(0);
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
