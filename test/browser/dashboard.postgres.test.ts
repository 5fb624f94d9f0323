const code = "123456";
process.env["OTP_FIXED_CODE"] = code;
const { describeDashboard } = await import("./dashboard.js");

describeDashboard("Postgres", code);
