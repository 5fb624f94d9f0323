import { describeQueueSettings } from "./queue-settings.js";

describeQueueSettings("Postgres");
