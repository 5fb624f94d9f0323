import { testHsts } from "./hsts.js";

await testHsts("https://api.test", "max-age=31536000");
