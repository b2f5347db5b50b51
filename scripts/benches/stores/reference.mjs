// Does pieces of work on a bucket with the reference system's filesystem, one JSON line in, one out.
// node reference.mjs MODULES PACKAGE '{"endpoint": …, "bucket": …}'
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, name, options] = process.argv.slice(2);
const loaded = createRequire(`${modules}/`)(name);
const Filesystem = loaded.S3Filesystem ?? loaded.GCSFilesystem;
const filesystem = new Filesystem(JSON.parse(options));
await filesystem.init();

const COPIES_AT_ONCE = 32;
const bodies = new Map();

function bodyOf(size) {
  if (!bodies.has(size)) bodies.set(size, Buffer.alloc(size, "moorage "));
  return bodies.get(size);
}

async function each(keys, concurrency, action) {
  let found = 0;
  let next = 0;
  const work = async () => {
    while (next < keys.length) {
      const share = await action(keys[next++]);
      found += share;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return found;
}

async function filesBelow(prefix) {
  const entries = await filesystem.readdir(`/${prefix}`, { recursive: true });
  return entries.filter((entry) => entry.type === "file").map((entry) => entry.name);
}

const ACTIONS = {
  put: (work) => async (key) => (await filesystem.writeFile(`/${key}`, bodyOf(work.size)), 1),
  get: () => async (key) => (await filesystem.readFile(`/${key}`)).length,
  head: () => async (key) => (await filesystem.stat(`/${key}`)).size,
  list: () => async (prefix) => (await filesBelow(prefix)).length,
  delete: () => async (prefix) => (await filesystem.rmdir(`/${prefix}`, { recursive: true }), 0),
  copy: (work) => async (source) => {
    const copied = async (file) => (await filesystem.copyFile(`/${source}/${file}`, `/${work.keys[1]}/${file}`), 0);
    return each(await filesBelow(source), COPIES_AT_ONCE, copied);
  },
};

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const work = JSON.parse(line);
  const keys = work.operation === "copy" ? work.keys.slice(0, 1) : work.keys;
  bodyOf(work.size);
  try {
    const spent = process.cpuUsage();
    const started = performance.now();
    const found = await each(keys, work.concurrency, ACTIONS[work.operation](work));
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.cpuUsage(spent);
    console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, found }));
  } catch (error) {
    console.log(JSON.stringify({ failure: String(error).slice(0, 300) }));
  }
}
process.exit(0);
