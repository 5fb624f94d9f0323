import { databases } from "./typescript.js";

export default databases.startTestServer;
