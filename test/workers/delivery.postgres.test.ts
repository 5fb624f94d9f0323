import { describeDelivery } from "./delivery.js";

describeDelivery("Postgres");
