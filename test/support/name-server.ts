import { createSocket } from "node:dgram";
import { once } from "node:events";
import ipaddr from "ipaddr.js";

const TYPES = { 4: 1, 6: 28 };
const NO_SUCH_NAME = 3;

/** Reads the name in a query, and where it ends. */
function nameIn(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

/** Returns the record of an address, for the name of the query. */
function record(address: string): Buffer {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray());
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(bytes.length === 4 ? TYPES[4] : TYPES[6], 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

/** Starts a DNS server that knows these names, and leaves questions for names that begin with `silent` unanswered. */
export async function startNameServer(names: Readonly<Record<string, readonly string[]>>) {
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, end } = nameIn(query);
    if (name.startsWith("silent")) return;
    const type = query.readUInt16BE(end);
    const records = (names[name] ?? [])
      .filter((address) => type === (address.includes(":") ? TYPES[6] : TYPES[4]))
      .map(record);
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180 + (name in names ? 0 : NO_SUCH_NAME), 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...records]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    stop: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}
