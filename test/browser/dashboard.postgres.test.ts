import { newVapidKeys } from "../../lib/process/push-keys.js";
import { startWebPush } from "../support/push/web-push.js";

const code = "123456";
const web = await startWebPush();
Object.assign(process.env, newVapidKeys(), { OTP_FIXED_CODE: code, ALLOW_PRIVATE_ADDRESSES: "1" });
const { describeDashboard } = await import("./dashboard.js");

describeDashboard({ broker: "Postgres", code, web });
