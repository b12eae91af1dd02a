// The contract of bench/peers/__init__.py for the queues that are written in
// JavaScript: node driver.js SYSTEM WORDS…
//
// The connection is told by libpq's variables in the environment.
"use strict";

const { Pool } = require("pg");

const CALL_MS = 5;
const PAY = `
INSERT INTO shop.payments (id, customer_id, amount_minor)
VALUES (gen_random_uuid(), 'customer-1', 1490)`;
const WARM_UP = 20;
const TELL_MS = 20;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const monotonic = () => process.hrtime.bigint();
const range = (first, last) =>
  Array.from({ length: last - first }, (_, n) => first + n);

// ---------------------------------------------------------------- what they share

class Tally {
  constructor(mode) {
    this.calls = mode === "call";
    this.picksUp = mode === "pickup";
    this.began = [];
  }

  async handle(n) {
    this.began.push([n, monotonic()]);
    if (this.calls) await sleep(CALL_MS);
  }

  tellInBackground() {
    let told = 0;
    setInterval(() => {
      if (this.began.length > told) {
        told = this.began.length;
        process.stdout.write(`handled ${told}\n`);
      }
    }, TELL_MS);
  }

  tellBeginnings() {
    if (!this.picksUp) return Promise.resolve();
    const lines = this.began.map(([n, at]) => `began ${n} ${at}\n`);
    return new Promise((done) => process.stdout.write(lines.join(""), done));
  }
}

class Input {
  constructor() {
    this.ended = new Promise((done) => process.stdin.on("end", done));
    this.go = new Promise((done) => process.stdin.once("data", done));
  }
}

async function timed(work) {
  const beganAt = performance.now();
  await work();
  return (performance.now() - beganAt) / 1e3;
}

async function singles(driver, times) {
  const spent = [];
  for (const n of range(0, times + WARM_UP)) {
    spent.push(await timed(() => driver.enqueue(n)));
  }
  return { jobs: spent.length, seconds: spent.slice(WARM_UP) };
}

async function bulks(driver, jobs, batch) {
  const spent = [];
  for (let first = 0; first < jobs; first += batch) {
    const numbers = range(first, Math.min(first + batch, jobs));
    spent.push(await timed(() => driver.enqueueMany(numbers)));
  }
  return { jobs, seconds: spent };
}

async function transactions(driver, times) {
  const alone = [];
  const withJob = [];
  for (const n of range(0, times + WARM_UP)) {
    alone.push(await timed(() => pay(driver, null)));
    withJob.push(await timed(() => pay(driver, n)));
  }
  return {
    jobs: withJob.length,
    alone: alone.slice(WARM_UP),
    with_job: withJob.slice(WARM_UP),
  };
}

async function pay(driver, n) {
  const client = await driver.pool.connect();
  await client.query("BEGIN");
  await client.query(PAY);
  if (n !== null) await driver.enqueueOver(client, n);
  await client.query("COMMIT");
  client.release();
}

async function pickups(driver, jobs, seconds) {
  const committed = [];
  let due = performance.now();
  for (const n of range(0, jobs)) {
    due += seconds * 1e3;
    await sleep(Math.max(due - performance.now(), 0));
    await driver.enqueue(n);
    committed.push([n, Number(monotonic())]);
  }
  return { jobs, committed };
}

async function drive(driver, [word, ...rest]) {
  if (word === "setup") {
    await driver.setup();
  } else if (word === "worker") {
    const input = new Input();
    const tally = new Tally(rest[0]);
    await driver.prepare(tally);
    process.stdout.write("ready\n");
    await input.go;
    tally.tellInBackground();
    await driver.work(tally);
    await input.ended;
    await driver.stop();
    await tally.tellBeginnings();
  } else {
    await driver.open();
    const words = { single: singles, bulk: bulks, transaction: transactions, pickup: pickups };
    const told = await words[word](driver, ...rest.map(Number));
    await new Promise((done) => process.stdout.write(JSON.stringify(told) + "\n", done));
  }
  process.exit(0);
}

// ---------------------------------------------------------------- graphile-worker

class GraphileWorker {
  static CONCURRENCY = 24;
  static CALLING_CONCURRENCY = 400;
  static CONNECTIONS = 25;

  constructor() {
    this.library = require("graphile-worker");
    this.logger = new this.library.Logger(() => () => {});
    this.pool = new Pool({ max: GraphileWorker.CONNECTIONS });
    this.pool.on("error", console.error);
  }

  async setup() {
    await this.library.runMigrations({ pgPool: this.pool, logger: this.logger });
  }

  async open() {
    this.utils = await this.library.makeWorkerUtils({
      pgPool: this.pool,
      logger: this.logger,
    });
  }

  enqueue(n) {
    return this.utils.addJob("noop", { n });
  }

  enqueueMany(numbers) {
    return this.utils.addJobs(
      numbers.map((n) => ({ identifier: "noop", payload: { n } })),
    );
  }

  enqueueOver(client, n) {
    return client.query("SELECT graphile_worker.add_job('noop', $1::json)", [
      JSON.stringify({ n }),
    ]);
  }

  async prepare() {}

  async work(tally) {
    const batched = {
      localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    };
    this.runner = await this.library.run({
      preset: {
        worker: {
          concurrentJobs: tally.calls
            ? GraphileWorker.CALLING_CONCURRENCY
            : GraphileWorker.CONCURRENCY,
          maxPoolSize: GraphileWorker.CONNECTIONS,
          // A batch waits for its like: not where one job's latency counts.
          ...(tally.picksUp ? {} : batched),
        },
      },
      pgPool: this.pool,
      logger: this.logger,
      noHandleSignals: true,
      taskList: { noop: ({ n }) => tally.handle(n) },
    });
  }

  stop() {
    return this.runner.stop();
  }
}

// ---------------------------------------------------------------- pg-boss

class PgBossQueue {
  static WORKERS = 4;
  static BATCH = 2500;
  static POLL_SECONDS = 0.5;

  constructor() {
    this.PgBoss = require("pg-boss");
    this.pool = new Pool({ max: 2 });
  }

  async setup() {
    await this.start({ supervise: false });
    await this.boss.createQueue("noop");
  }

  open() {
    return this.start({ supervise: false });
  }

  async start(options) {
    this.boss = new this.PgBoss({
      connectionString: process.env.PEER_URI,
      schedule: false,
      max: 10,
      ...options,
    });
    this.boss.on("error", console.error);
    await this.boss.start();
  }

  enqueue(n) {
    return this.boss.send("noop", { n });
  }

  enqueueMany(numbers) {
    return this.boss.insert(numbers.map((n) => ({ name: "noop", data: { n } })));
  }

  enqueueOver(client, n) {
    const db = { executeSql: (text, values) => client.query(text, values) };
    return this.boss.send("noop", { n }, { db });
  }

  prepare() {
    return this.start({ supervise: true });
  }

  async work(tally) {
    const options = {
      batchSize: PgBossQueue.BATCH,
      pollingIntervalSeconds: PgBossQueue.POLL_SECONDS,
    };
    for (const _ of range(0, PgBossQueue.WORKERS)) {
      await this.boss.work("noop", options, (jobs) =>
        Promise.all(jobs.map((job) => tally.handle(job.data.n))),
      );
    }
  }

  stop() {
    return this.boss.stop({ graceful: true, wait: true });
  }
}

const drivers = { "graphile-worker": GraphileWorker, "pg-boss": PgBossQueue };
const [system, ...words] = process.argv.slice(2);
drive(new drivers[system](), words).catch((error) => {
  console.error(error);
  process.exit(1);
});
