import * as cast from "../../support/cast.js";
import type { Expectations } from "./scene.js";

export const auth: Expectations = {
  "POST /api/v1/auth/otp/send": {
    ask: (as) => as.post("/api/v1/auth/otp/send", { phone: cast.newPhone() }),
    answer: "200",
  },
  "POST /api/v1/auth/otp/verify": {
    ask: (as) => as.post("/api/v1/auth/otp/verify", { phone: cast.newPhone(), code: "000000" }),
    answer: "400 INVALID_CODE",
  },
  "POST /api/v1/auth/token/refresh": {
    ask: (as) => as.post("/api/v1/auth/token/refresh", { refreshToken: "none" }),
    answer: "401 INVALID_REFRESH_TOKEN",
  },
  "POST /api/v1/auth/logout": {
    ask: (as) => as.post("/api/v1/auth/logout", { refreshToken: "none" }),
    answer: "400 INVALID_TOKEN",
  },
};
