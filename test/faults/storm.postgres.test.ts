import { testStorm } from "./storm.js";

testStorm("Postgres", null, false);
