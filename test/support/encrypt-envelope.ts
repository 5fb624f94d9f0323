import { encryptEnvelope } from "../../lib/security/envelope.js";

// Prints the envelope of a text, encrypted by a process with these keys for this context.
const [text = "", context = ""] = process.argv.slice(2);
process.stdout.write(encryptEnvelope(text, context));
