// Converts what arrives at its input, which a test keeps open.
import { convertImage } from "../../lib/storage/images.js";

await convertImage(process.stdin);
