import { TestEnvironment } from "jest-environment-node";
import { databases } from "./typescript.js";

/** Gives every test file its own database, and the environment variables for it, before any import. */
export default class DatabaseEnvironment extends TestEnvironment {
  async setup() {
    await super.setup();
    this.database = await databases.createTestDatabase();
    this.global.process.env = databases.testEnvironment(this.global.process.env, this.database);
  }

  async teardown() {
    if (this.database) await databases.dropTestDatabase(this.database);
    await super.teardown();
  }
}
