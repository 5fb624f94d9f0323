import { encryptEnvelope } from "../../lib/security/envelope.js";

// Prints what a process with these keys seals: a text, for a place.
const [text = "", context = ""] = process.argv.slice(2);
process.stdout.write(encryptEnvelope(text, context));
