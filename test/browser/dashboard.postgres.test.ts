import { startFcm } from "../support/push/fcm.js";

const code = "123456";
const fcm = await startFcm();
Object.assign(process.env, {
  OTP_FIXED_CODE: code,
  FCM_URL: fcm.url,
  FCM_SERVICE_ACCOUNT: fcm.serviceAccount,
  ALLOW_PRIVATE_ADDRESSES: "1",
});
const { describeDashboard } = await import("./dashboard.js");

describeDashboard({ broker: "Postgres", code, fcm });
