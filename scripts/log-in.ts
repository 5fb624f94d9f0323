import "./environment.js";
import { phonePattern } from "../lib/domain/phone.js";
import { usage } from "./command.js";
import { findService } from "./demo/address.js";
import { Caller } from "./demo/http.js";
import { signInAgain } from "./demo/tokens.js";

// `npm run --silent log-in [-- +79991234567]`: prints an access token of a running development service.

const [phone = (process.env["ADMIN_PHONES"] ?? "+79990000000").split(",")[0] ?? "", ...rest] = process.argv.slice(2);
if (rest.length > 0 || !phonePattern.test(phone)) throw new Error(usage);
const code = process.env["OTP_FIXED_CODE"] ?? "000000";
const { caller } = await signInAgain(new Caller(await findService()), phone, code);
process.stdout.write(`${caller.token ?? ""}\n`);
