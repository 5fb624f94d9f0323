import "./configured.js";
import { parseArgs } from "node:util";
import { config } from "../lib/process/config.js";
import { phonePattern } from "../lib/domain/phone.js";
import { closeDatabase, sql } from "../sql/db.js";
import { hasAdmin, updateAdmin, updateObserver } from "../sql/queries/users.js";
import { usage } from "./command.js";

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function readArguments(): { phone: string; revoke: boolean; readOnly: boolean } {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { revoke: { type: "boolean", default: false }, "read-only": { type: "boolean", default: false } },
    });
    const [phone = "", ...rest] = positionals;
    if (phonePattern.test(phone) && rest.length === 0)
      return { phone, revoke: values.revoke, readOnly: values["read-only"] };
  } catch {
    // an unknown option prints the usage too
  }
  return fail(usage);
}

const { phone, revoke, readOnly } = readArguments();
const had = await (readOnly ? updateObserver : updateAdmin)(sql, phone, !revoke);
const stays = readOnly && (config.ADMIN_PHONES.includes(phone) || (await hasAdmin(sql, phone)));
await closeDatabase();
const role = readOnly ? "an observer" : "an admin";
if (!readOnly && revoke && config.ADMIN_PHONES.includes(phone))
  fail(`${phone} stays an admin as long as ADMIN_PHONES names it.`);
if (had === undefined) fail(`No user has the phone ${phone}. A user must log in before you can grant the role.`);
// most likely a mistyped phone, and then the admin still is one
if (revoke && !had) fail(`${phone} is not ${role}.`);
const also = stays ? ", and an admin still, who may act on the console" : "";
process.stdout.write(`${phone} is ${revoke ? `no longer ${role}` : `${role} now`}${also}.\n`);
