import { testHsts } from "./hsts.js";

await testHsts("http://api.test", null);
